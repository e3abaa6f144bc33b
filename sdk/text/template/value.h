// The values of templates: a subset of Python's. Values are immutable, except for namespaces and for iterators, which
// are consumed. Values point into an arena (or to text that outlives them), and are copied by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::jinja {

enum class Type : uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  View,      // result of items(), keys(), values() and range(): has a length, but cannot be indexed
  Iterator,  // result of map, select and others: can be iterated once
  Dict,
  Namespace,
  Function,
  Loop,
  Absent,  // an argument that was not given
};

struct Dict;
struct Function;
struct Iterator;
struct Loop;

struct Value {
  Type type = Type::Undefined;
  // Undefined: the type that lacks the attribute; Undefined itself: a variable. None: has its own message.
  Type owner = Type::Undefined;
  bool element = false;  // Undefined: a missing element that was not accessed by name
  bool safe = false;     // a string that is MarkupSafe's Markup, as the filter `safe` returns: others are escaped
  uint32_t size = 0;     // bytes of a string or of Undefined's name; number of elements
  union {
    int64_t integer = 0;  // Bool: 0 or 1
    double real;
    const char* text;  // UTF-8
    const Value* items;
    Iterator* iterator;
    Dict* dict;
    const Function* function;
    Loop* loop;
  };

  bool is(Type t) const { return type == t; }
  bool is_number() const { return type == Type::Bool || type == Type::Int || type == Type::Float; }
  bool is_integral() const { return type == Type::Bool || type == Type::Int; }
  // Whether `items` has elements.
  bool is_sequence() const { return type == Type::List || type == Type::Tuple || type == Type::View; }
  double number() const { return type == Type::Float ? real : static_cast<double>(integer); }
  // A string's bytes. The caller counts the reading of them (Work::read(), Work::same()).
  std::string_view uncharged() const { return {text, size}; }
};

struct Iterator {
  const Value* items;
  uint32_t size;  // 0 once it is consumed
};

inline Value none() { return {.type = Type::None}; }
inline Value absent() { return {.type = Type::Absent}; }
inline Value boolean(bool value) { return {.type = Type::Bool, .integer = value}; }
inline Value integer(int64_t value) { return {.type = Type::Int, .integer = value}; }
inline Value real(double value) { return {.type = Type::Float, .real = value}; }
// `text` is well-formed and must outlive the value.
inline Value string(std::string_view text) {
  return {.type = Type::String, .size = static_cast<uint32_t>(text.size()), .text = text.data()};
}
inline Value markup(Value value) {
  value.safe = value.type == Type::String;
  return value;
}
inline Value sequence(Type type, const Value* items, size_t size) {
  return {.type = type, .size = static_cast<uint32_t>(size), .items = items};
}
inline Value mapping(Dict* dict) { return {.type = Type::Dict, .dict = dict}; }

class Work;

// Entries in insertion order; keys are hashable.
struct Dict {
  struct Entry {
    Value key, value;
  };
  Entry* entries = nullptr;
  uint32_t size = 0, capacity = 0;
  uint32_t* index = nullptr;  // hash table of positions + 1, for more than a few entries; its size is a power of two
  uint32_t index_size = 0;

  const Value* find(Work& work, const Value& key) const;
  const Value* find(Work& work, std::string_view key) const { return find(work, string(key)); }
  // Sets the key's value. Fails for an unhashable key.
  void put(Work& work, const Value& key, const Value& value);

 private:
  uint32_t* place(Work& work, const Value& key) const;
  bool grow(Work& work);
};

// Python's name: "str", "dict", ...
const char* type_name(Type type);
bool truth(const Value& value);
bool equal(Work& work, const Value& a, const Value& b, int depth = 0);
// Whether a < b. Fails if Python cannot order the two.
bool less(Work& work, const Value& a, const Value& b, int depth = 0);

}  // namespace ferry::jinja
