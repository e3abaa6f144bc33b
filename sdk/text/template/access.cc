// Attribute and element access, and iteration.
#include <algorithm>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/evaluator.h"
#include "sdk/text/template/functions.h"

namespace ferry::jinja {

Value Evaluator::fail_undefined(const Value& undefined) {
  if (failed()) return {};
  const auto name = static_cast<int>(std::min(undefined.size, 200u));
  // Jinja's name of the owner: "None", "dict object".
  const char* owner = type_name(undefined.owner);
  if (undefined.element) return fail("%s object has no element %lld", owner, static_cast<long long>(undefined.integer));
  if (undefined.owner == Type::Undefined) return fail("'%.*s' is undefined", name, undefined.text);
  if (undefined.owner == Type::None) return fail("%.*s", name, undefined.text);
  return fail("'%s object' has no attribute '%.*s'", owner, name, undefined.text);
}

// A bound method; null if there is none of that name.
const Value* Evaluator::find_method(const Value& value, std::string_view name, Value* out) {
  if (!step(2)) return nullptr;  // a search through a table
  const Native* native = jinja::find_method(value.type, name);
  if (native == nullptr) return nullptr;
  auto* function = make<Function>();
  if (function == nullptr) return nullptr;
  function->native = native;
  function->subject = value;
  *out = {.type = Type::Function, .function = function};
  return out;
}

Value Evaluator::attribute(const Value& value, std::string_view name) {
  Value method;
  switch (value.type) {
    case Type::Undefined: return fail_undefined(value);
    case Type::Loop: {
      const Value found = loop_attribute(*value.loop, name);
      if (!found.is(Type::Absent)) return found;
      break;
    }
    case Type::None: {  // its message does not use a type name
      const size_t mark = length();
      append("'None' has no attribute '");
      append(name);
      append("'");
      return undefined(none(), take(mark).uncharged());
    }
    default: break;
  }
  if (const Value* found = find_method(value, name, &method)) return *found;
  if (value.is(Type::Dict) || value.is(Type::Namespace))
    if (const Value* found = value.dict->find(*this, name)) return *found;
  return undefined(value, name);
}

Value Evaluator::element(const Value& value, const Value& key) {
  if (failed() || value.is(Type::Undefined)) return fail_undefined(value);
  if (value.is(Type::Dict))
    if (const Value* found = value.dict->find(*this, key)) return *found;
  const bool indexed = value.is(Type::List) || value.is(Type::Tuple) || value.is(Type::String);
  if (key.is_integral() && indexed) {
    const std::string_view text = value.is(Type::String) ? read_characters(value) : std::string_view();
    const auto size = static_cast<int64_t>(value.is(Type::String) ? count_characters(text) : value.size);
    const int64_t at = key.integer < 0 ? key.integer + size : key.integer;
    if (at >= 0 && at < size) {
      if (!value.is(Type::String)) return value.items[at];
      const std::string_view tail = text.substr(bytes_of(text, static_cast<size_t>(at)));
      const Value character = string(tail.substr(0, first_bytes(tail)));
      return value.safe ? markup(character) : character;
    }
  }
  if (key.is(Type::String)) return attribute(value, key.uncharged());
  return {.owner = value.type, .element = true, .integer = key.is_integral() ? key.integer : 0};
}

Value Evaluator::path(const Value& value, const Value& attribute, const Value* otherwise) {
  const auto part_of = [&](const Value& whole, const Value& key) {
    const Value found = element(whole, key);
    return found.is(Type::Undefined) && otherwise != nullptr && !otherwise->is(Type::None) ? *otherwise : found;
  };
  if (!attribute.is(Type::String)) return part_of(value, attribute);
  Value found = value;
  std::string_view parts = read_characters(attribute);
  while (!failed()) {
    const size_t point = parts.find('.');
    const std::string_view part = parts.substr(0, point);
    const bool digits = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    int64_t index = 0;
    for (size_t i = 0; digits && i < part.size(); ++i) index = index * 10 + (part[i] - '0');
    found = part_of(found, digits ? integer(index) : string(part));
    if (point == parts.npos) break;
    parts.remove_prefix(point + 1);
  }
  return found;
}

Value Evaluator::elements(const Value& value) {
  switch (value.type) {
    case Type::Undefined: return sequence(Type::List, nullptr, 0);
    case Type::List:
    case Type::Tuple:
    case Type::View: return sequence(Type::List, value.items, value.size);
    case Type::Iterator: return sequence(Type::List, value.iterator->items, std::exchange(value.iterator->size, 0));
    case Type::Dict: {
      auto* keys = make<Value>(value.dict->size + 1);
      if (keys == nullptr || !step(value.dict->size)) return {};
      for (uint32_t i = 0; i < value.dict->size; ++i) keys[i] = value.dict->entries[i].key;
      return sequence(Type::List, keys, value.dict->size);
    }
    case Type::String: {
      std::string_view text = read_characters(value);
      const size_t count = count_characters(text);
      auto* characters = make<Value>(count + 1);
      if (characters == nullptr || !step(count)) return {};
      for (size_t i = 0; i < count; ++i) {
        const size_t bytes = first_bytes(text);
        characters[i] = string(text.substr(0, bytes));
        text.remove_prefix(bytes);
      }
      return sequence(Type::List, characters, count);
    }
    default: return fail("'%s' object is not iterable", type_name(value.type));
  }
}

Value Evaluator::loop_attribute(Loop& loop, std::string_view name) {
  const bool whole = name == "length" || name == "revindex" || name == "revindex0";
  if (whole) fetch(loop, loop.size);  // counts all elements
  if (name == "index") return integer(loop.index + 1);
  if (name == "index0") return integer(loop.index);
  if (name == "first") return boolean(loop.index == 0);
  if (name == "last") return boolean(!fetch(loop, loop.index + 1));
  if (name == "length") return integer(loop.count);
  if (name == "revindex") return integer(int64_t{loop.count} - loop.index);
  if (name == "revindex0") return integer(int64_t{loop.count} - loop.index - 1);
  if (name == "depth") return integer(1);
  if (name == "depth0") return integer(0);
  if (name == "previtem") {
    if (loop.index > 0) return loop.kept[loop.index - 1];
    return undefined(none(), "there is no previous item");
  }
  if (name == "nextitem") {
    if (fetch(loop, loop.index + 1)) return loop.kept[loop.index + 1];
    return undefined(none(), "there is no next item");
  }
  return absent();
}

bool Evaluator::contains(const Value& container, const Value& item) {
  switch (container.type) {
    case Type::String:
      if (!item.is(Type::String)) {
        fail("'in <string>' requires string as left operand, not %s", type_name(item.type));
        return false;
      }
      return find_text(read_characters(container), item.uncharged(), 0) != std::string_view::npos && !failed();
    case Type::Dict: return container.dict->find(*this, item) != nullptr;
    case Type::Undefined:
    case Type::List:
    case Type::Tuple:
    case Type::View:
    case Type::Iterator: {
      const Value items = elements(container);
      for (uint32_t i = 0; i < items.size && !failed(); ++i)
        if (equal(*this, items.items[i], item)) return true;
      return false;
    }
    default: fail("argument of type '%s' is not iterable", type_name(container.type)); return false;
  }
}

}  // namespace ferry::jinja
