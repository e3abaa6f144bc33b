#include "sdk/text/template/tests.h"

#include <algorithm>

#include "sdk/text/template/filters.h"
#include "sdk/text/template/functions.h"

namespace ferry::jinja {
namespace {

template <Type... types>
Value is_type(Evaluator&, const Value& value, const Arguments&) {
  return boolean(((value.type == types) || ...));
}

Value is_defined(Evaluator&, const Value& value, const Arguments&) { return boolean(!value.is(Type::Undefined)); }

template <bool wanted>
Value is_bool(Evaluator&, const Value& value, const Arguments&) {
  return boolean(value.is(Type::Bool) && (value.integer != 0) == wanted);
}

template <Operation operation>
Value compares(Evaluator& run, const Value& value, const Arguments& a) {
  return run.apply(operation, value, a[0]);
}

// Whether the remainder by 2, or by the argument, is this.
template <int remainder>
Value divides(Evaluator& run, const Value& value, const Arguments& a) {
  const Value by = a.count > 0 ? a[0] : integer(2);
  return run.apply(Operation::Equal, run.apply(Operation::Modulo, value, by), integer(remainder));
}

// Also of the same type; containers are the same if they are at the same address.
Value is_same(Evaluator& run, const Value& value, const Arguments& a) {
  if (value.type != a[0].type) return boolean(false);
  if (value.is_sequence()) return boolean(value.items == a[0].items && value.size == a[0].size);
  return boolean(value.is(Type::Dict) ? value.dict == a[0].dict : equal(run, value, a[0]));
}

template <bool upper>
Value has_letters(Evaluator& run, const Value& value, const Arguments&) {
  return run.call(*find_string_method(upper ? "isupper" : "islower"), "function", run.text(value), {});
}

Value is_escaped(Evaluator&, const Value& value, const Arguments&) { return boolean(value.safe); }

// Whether a name is that of a filter or a test, as in "{% if 'tojson' is filter %}".
Value is_filter(Evaluator& run, const Value& value, const Arguments&) {
  return boolean(run.step(4) && value.is(Type::String) && find_filter(value.uncharged()) != kUnknown);
}
Value is_test(Evaluator& run, const Value& value, const Arguments&) {
  return boolean(run.step(4) && value.is(Type::String) && find_test(value.uncharged()) != kUnknown);
}

constexpr Native kTests[] = {
    {"defined", "", is_defined},
    {"undefined", "", is_type<Type::Undefined>},
    {"none", "", is_type<Type::None>},
    {"true", "", is_bool<true>},
    {"false", "", is_bool<false>},
    {"boolean", "", is_type<Type::Bool>},
    {"string", "", is_type<Type::String>},
    {"mapping", "", is_type<Type::Dict>},
    // As in Python's classes: Undefined has the methods of a sequence, and is callable.
    {"sequence", "", is_type<Type::String, Type::List, Type::Tuple, Type::Dict, Type::Undefined>},
    {"iterable", "",
     is_type<Type::String, Type::List, Type::Tuple, Type::Dict, Type::Undefined, Type::View, Type::Iterator,
             Type::Loop>},
    {"callable", "", is_type<Type::Function, Type::Undefined, Type::Loop>},
    {"number", "", is_type<Type::Int, Type::Float, Type::Bool>},
    {"integer", "", is_type<Type::Int>},
    {"float", "", is_type<Type::Float>},
    {"odd", "", divides<1>},
    {"even", "", divides<0>},
    {"divisibleby", "num", divides<0>},
    {"eq", "other", compares<Operation::Equal>},
    {"equalto", "other", compares<Operation::Equal>},
    {"==", "other", compares<Operation::Equal>},
    {"ne", "other", compares<Operation::NotEqual>},
    {"!=", "other", compares<Operation::NotEqual>},
    {"lt", "other", compares<Operation::Less>},
    {"lessthan", "other", compares<Operation::Less>},
    {"<", "other", compares<Operation::Less>},
    {"le", "other", compares<Operation::LessEqual>},
    {"<=", "other", compares<Operation::LessEqual>},
    {"gt", "other", compares<Operation::Greater>},
    {"greaterthan", "other", compares<Operation::Greater>},
    {">", "other", compares<Operation::Greater>},
    {"ge", "other", compares<Operation::GreaterEqual>},
    {">=", "other", compares<Operation::GreaterEqual>},
    {"in", "seq", compares<Operation::In>},
    {"sameas", "other", is_same},
    {"upper", "", has_letters<true>},
    {"lower", "", has_letters<false>},
    {"escaped", "", is_escaped},
    {"filter", "", is_filter},
    {"test", "", is_test},
};

}  // namespace

Value fail_unknown(Work& work, uint32_t line, const char* what, std::string_view name, const Native* table,
                   size_t count) {
  const size_t mark = work.length();
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) work.append(", ");
    work.append(table[i].name);
  }
  const Value known = work.take(mark);
  if (work.failed()) return {};
  work.line = line;
  return work.fail("no %s is called '%.*s'; there are: %.*s", what,
                   static_cast<int>(std::min<size_t>(name.size(), 100)), name.data(), static_cast<int>(known.size),
                   known.text);
}

uint8_t find_test(std::string_view name) { return place_in(kTests, name); }

Value fail_unknown_test(Work& work, uint32_t line, std::string_view name) {
  return fail_unknown(work, line, "test", name, kTests, std::size(kTests));
}

const Native& test_at(uint8_t index) { return kTests[index]; }

}  // namespace ferry::jinja
