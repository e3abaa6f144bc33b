#include "sdk/text/template/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sdk/text/template/work.h"

namespace ferry::jinja {
namespace {

constexpr uint32_t kSearched = 8;  // maximum entries for linear search

bool can_be_key(const Value& value) { return value.is_number() || value.is(Type::String) || value.is(Type::None); }

// Equal keys have equal hashes; numbers of all types hash as their float value.
uint32_t hash_of(Work& work, const Value& key) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a (Fowler, Noll, Vo)
  const auto add = [&](const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001B3u;
  };
  if (key.is(Type::String)) {
    const std::string_view text = work.read(key);
    add(text.data(), text.size());
  } else if (key.is_number()) {
    const double number = key.number() + 0.0;  // -0.0 becomes 0.0
    add(&number, sizeof number);
  }
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

bool same_number(const Value& a, const Value& b) {
  return a.is_integral() && b.is_integral() ? a.integer == b.integer : a.number() == b.number();
}

// Compares two keys; false after a failure.
bool same_key(Work& work, const Value& a, const Value& b) {
  if (a.is(Type::String) || b.is(Type::String)) return a.type == b.type && work.same(a.uncharged(), b.uncharged());
  if (a.is_number() && b.is_number()) return same_number(a, b);
  return a.type == b.type;
}

}  // namespace

// The index slot of the key, or a free slot for it.
uint32_t* Dict::place(Work& work, const Value& key) const {
  const uint32_t mask = index_size - 1;
  uint32_t at = hash_of(work, key) & mask;
  while (index[at] != 0 && !same_key(work, entries[index[at] - 1].key, key) && work.step()) at = (at + 1) & mask;
  return &index[at];
}

const Value* Dict::find(Work& work, const Value& key) const {
  if (!can_be_key(key)) return nullptr;
  if (index != nullptr) {
    const uint32_t found = *place(work, key);
    if (work.failed()) return nullptr;
    return found != 0 ? &entries[found - 1].value : nullptr;
  }
  for (uint32_t i = 0; i < size; ++i)
    if (same_key(work, entries[i].key, key)) return &entries[i].value;
  return nullptr;
}

bool Dict::grow(Work& work) {
  const uint32_t larger = std::max(4u, 2 * capacity);
  auto* moved = work.make<Entry>(larger);
  if (moved == nullptr) return false;
  std::copy(entries, entries + size, moved);
  entries = moved;
  capacity = larger;
  if (larger <= kSearched) return true;
  index = work.make<uint32_t>(size_t{2} * larger);
  if (index == nullptr) return false;
  index_size = 2 * larger;
  for (uint32_t i = 0; i < size; ++i) *place(work, entries[i].key) = i + 1;
  return !work.failed();
}

void Dict::put(Work& work, const Value& key, const Value& value) {
  if (!can_be_key(key)) {
    work.fail("a %s cannot be the key of a dict", type_name(key.type));
    return;
  }
  if (const Value* found = find(work, key)) {
    *const_cast<Value*>(found) = value;
    return;
  }
  if (work.failed() || (size == capacity && !grow(work))) return;
  entries[size++] = {key, value};
  if (index != nullptr) *place(work, key) = size;
}

const char* type_name(Type type) {
  switch (type) {
    case Type::Undefined: return "Undefined";
    case Type::None: return "NoneType";
    case Type::Bool: return "bool";
    case Type::Int: return "int";
    case Type::Float: return "float";
    case Type::String: return "str";
    case Type::List: return "list";
    case Type::Tuple: return "tuple";
    case Type::View: return "view";
    case Type::Iterator: return "generator";
    case Type::Dict: return "dict";
    case Type::Namespace: return "namespace";
    case Type::Function: return "function";
    case Type::Loop: return "loop";
    case Type::Absent: break;
  }
  return "absent";
}

bool truth(const Value& value) {
  switch (value.type) {
    case Type::Undefined:
    case Type::None:
    case Type::Absent: return false;
    case Type::Bool:
    case Type::Int: return value.integer != 0;
    case Type::Float: return value.real != 0;
    case Type::String:
    case Type::List:
    case Type::Tuple:
    case Type::View: return value.size != 0;
    case Type::Dict: return value.dict->size != 0;
    default: return true;
  }
}

bool equal(Work& work, const Value& a, const Value& b, int depth) {
  if (!work.step()) return false;
  if (depth > kMaxNesting) {
    work.fail("values are nested more than %d deep", kMaxNesting);
    return false;
  }
  if (a.is_number() && b.is_number()) return same_number(a, b);
  if (a.type != b.type) return false;
  switch (a.type) {
    case Type::String: return work.same(a.uncharged(), b.uncharged());
    case Type::List:
    case Type::Tuple:
    case Type::View:
      if (a.size != b.size) return false;
      for (uint32_t i = 0; i < a.size; ++i)
        if (!equal(work, a.items[i], b.items[i], depth + 1)) return false;
      return true;
    case Type::Dict:
      if (a.dict->size != b.dict->size) return false;
      for (uint32_t i = 0; i < a.dict->size; ++i) {
        const Dict::Entry& entry = a.dict->entries[i];
        const Value* other = b.dict->find(work, entry.key);
        if (other == nullptr || !equal(work, entry.value, *other, depth + 1)) return false;
      }
      return true;
    case Type::Namespace: return a.dict == b.dict;
    case Type::Function: return a.function == b.function;
    case Type::Iterator: return a.iterator == b.iterator;
    case Type::Loop: return a.loop == b.loop;
    default: return true;  // None, Undefined
  }
}

bool less(Work& work, const Value& a, const Value& b, int depth) {
  if (!work.step()) return false;
  if (a.is_number() && b.is_number())
    return a.is_integral() && b.is_integral() ? a.integer < b.integer : a.number() < b.number();
  if (a.is(Type::String) && b.is(Type::String))
    return work.read(a.size < b.size ? a : b).size() == std::min(a.size, b.size) && a.uncharged() < b.uncharged();
  if (a.type != b.type || !(a.is(Type::List) || a.is(Type::Tuple)) || depth > kMaxNesting) {
    work.fail("'<' not supported between instances of '%s' and '%s'", type_name(a.type), type_name(b.type));
    return false;
  }
  for (uint32_t i = 0; i < std::min(a.size, b.size) && !work.failed(); ++i)
    if (!equal(work, a.items[i], b.items[i], depth + 1)) return less(work, a.items[i], b.items[i], depth + 1);
  return a.size < b.size;
}

}  // namespace ferry::jinja
