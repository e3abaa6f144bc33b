// What a template computes with: Python's values as far as templates see them. A value never changes but for namespaces
// and for iterators, which are spent by whoever goes through them. All point into an arena (or into a text that
// outlives them) and are copied freely.
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
  View,      // what items(), keys(), values() and range() give: it has a length, and no places
  Iterator,  // what map, select and others give: it is gone through once
  Dict,
  Namespace,
  Function,
  Loop,
  Absent,  // an argument that a call leaves out
};

struct Dict;
struct Function;
struct Iterator;
struct Loop;

struct Value {
  Type type = Type::Undefined;
  // Undefined: what it is no attribute of; Undefined itself: a variable. None: a sentence of its own.
  Type owner = Type::Undefined;
  bool element = false;  // Undefined: what it would be the element of has no such one, but for a name
  uint32_t size = 0;     // bytes of a string or of Undefined's name, elements
  union {
    int64_t integer = 0;  // Bool as 0 and 1
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
  // Elements at `items`.
  bool is_sequence() const { return type == Type::List || type == Type::Tuple || type == Type::View; }
  double number() const { return type == Type::Float ? real : static_cast<double>(integer); }
  std::string_view string() const { return {text, size}; }
};

struct Iterator {
  const Value* items;
  uint32_t size;  // 0 once it is spent
};

inline Value none() { return {.type = Type::None}; }
inline Value absent() { return {.type = Type::Absent}; }
inline Value boolean(bool value) { return {.type = Type::Bool, .integer = value}; }
inline Value integer(int64_t value) { return {.type = Type::Int, .integer = value}; }
inline Value real(double value) { return {.type = Type::Float, .real = value}; }
// `text`, which is well-formed, outlives the value.
inline Value string(std::string_view text) {
  return {.type = Type::String, .size = static_cast<uint32_t>(text.size()), .text = text.data()};
}
inline Value sequence(Type type, const Value* items, size_t size) {
  return {.type = type, .size = static_cast<uint32_t>(size), .items = items};
}
inline Value mapping(Dict* dict) { return {.type = Type::Dict, .dict = dict}; }

class Work;

// Keys in the order in which they came, of any type that is not made of others.
struct Dict {
  struct Entry {
    Value key, value;
  };
  Entry* entries = nullptr;
  uint32_t size = 0, capacity = 0;
  uint32_t* index = nullptr;  // places + 1 by hash, where there are more than a few; a power of two of them
  uint32_t index_size = 0;

  const Value* find(Work& work, const Value& key) const;
  const Value* find(Work& work, std::string_view key) const { return find(work, string(key)); }
  // Replaces what the key had. Fails for a key that cannot be one.
  void put(Work& work, const Value& key, const Value& value);

 private:
  uint32_t* place(Work& work, const Value& key) const;
  bool grow(Work& work);
};

// As Python calls it: "str", "dict", ...
const char* type_name(Type type);
bool truth(const Value& value);
bool equal(Work& work, const Value& a, const Value& b, int depth = 0);
// Is a < b? Fails where Python has no order for the two.
bool less(Work& work, const Value& a, const Value& b, int depth = 0);

}  // namespace ferry::jinja
