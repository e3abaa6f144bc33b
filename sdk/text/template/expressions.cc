#include <algorithm>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/evaluator.h"
#include "sdk/text/template/filters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/tests.h"

namespace ferry::jinja {

Value Evaluator::evaluate(const Node* node) {
  const Deeper deeper(*this);
  if (!step()) return {};
  line = node->line;
  switch (node->kind) {
    case Kind::Literal: return node->value;
    case Kind::Name: return evaluate_name(node->value.uncharged());
    case Kind::List: return evaluate_list(node->first, Type::List);
    case Kind::Tuple: return evaluate_list(node->first, Type::Tuple);
    case Kind::Dict: return evaluate_dict(node->first);
    case Kind::Chain: {
      Value value = evaluate(node->first);
      for (const Node* other = node->second; other != nullptr && !failed(); other = other->next) {
        const Value right = evaluate(other->first);
        line = other->line;
        value = apply(other->operation, value, right);
      }
      return value;
    }
    case Kind::Logic: return evaluate_logic(node);
    case Kind::Comparison: return evaluate_comparison(node);
    case Kind::Not: return boolean(!truth(evaluate(node->first)));
    case Kind::Negative: {
      const Value value = evaluate(node->first);
      return value.is(Type::Float) ? real(-value.real) : apply(Operation::Subtract, integer(0), value);
    }
    case Kind::Positive: return apply(Operation::Add, integer(0), evaluate(node->first));
    case Kind::Conditional:
      if (truth(evaluate(node->first))) return evaluate(node->second);
      if (node->third != nullptr) return evaluate(node->third);
      return undefined(none(), "the inline if-expression evaluated to false and no else section was defined.");
    case Kind::Postfix: return evaluate_postfix(node, evaluate(node->first));
    case Kind::Closure: return evaluate(node->first);
    case Kind::Macro: {
      auto* function = make<Function>();
      if (function == nullptr) return {};
      function->macro = node;
      function->scope = scope_;
      return {.type = Type::Function, .function = function};
    }
    default: return {};
  }
}

Value Evaluator::evaluate_name(std::string_view name) {
  for (const Scope* scope = scope_; scope != nullptr && step_bytes(kStepBytes / 8); scope = scope->parent)
    for (const Scope::Binding* b = scope->bindings; b != nullptr && !failed(); b = b->next)
      if (same(b->name, name)) return b->value;
  if (context_.is(Type::Dict))
    if (const Value* found = context_.dict->find(*this, name)) return *found;
  const Native* native = find_function(name);
  if (native == nullptr || (name == "strftime_now" && now_ == nullptr)) return undefined({}, name);
  auto* function = make<Function>();
  if (function == nullptr) return {};
  function->native = native;
  return {.type = Type::Function, .function = function};
}

Value Evaluator::evaluate_list(const Node* first, Type type) {
  size_t count = 0;
  for (const Node* item = first; item != nullptr; item = item->next) ++count;
  auto* items = make<Value>(count + 1);
  if (items == nullptr) return {};
  count = 0;
  for (const Node* item = first; item != nullptr && !failed(); item = item->next) items[count++] = evaluate(item);
  return sequence(type, items, count);
}

Value Evaluator::new_dict() {
  auto* dict = make<Dict>();
  return dict != nullptr ? mapping(dict) : Value{};
}

Value Evaluator::evaluate_dict(const Node* first) {
  const Value dict = new_dict();
  for (const Node* key = first; key != nullptr && !failed(); key = key->next->next) {
    const Value name = evaluate(key);
    const Value value = evaluate(key->next);
    if (!failed()) dict.dict->put(*this, name, value);
  }
  return dict;
}

Value Evaluator::evaluate_logic(const Node* node) {
  Value value = evaluate(node->first);
  for (const Node* other = node->second; other != nullptr && !failed(); other = other->next) {
    if (truth(value) == (other->operation == Operation::Or)) break;
    value = evaluate(other->first);
  }
  return value;
}

Value Evaluator::evaluate_comparison(const Node* node) {
  Value left = evaluate(node->first), holds;
  for (const Node* other = node->second; other != nullptr && !failed(); other = other->next) {
    const Value right = evaluate(other->first);
    line = other->line;
    holds = apply(other->operation, left, right);
    if (!truth(holds)) break;
    left = right;
  }
  return holds;
}

Value Evaluator::evaluate_postfix(const Node* node, Value value) {
  for (const Node* what = node->second; what != nullptr && !failed(); what = what->next) {
    line = what->line;
    Arguments arguments{};
    switch (what->kind) {
      case Kind::Attribute: value = attribute(value, what->value.uncharged()); break;
      case Kind::Element: value = element(value, evaluate(what->first)); break;
      case Kind::Slice: value = evaluate_slice(what, value); break;
      case Kind::Call:
        if (evaluate_arguments(what->first, &arguments)) value = call(value, arguments);
        break;
      case Kind::Filter:
        if (!evaluate_arguments(what->first, &arguments)) break;
        if (what->index != kUnknown)
          value = call(filter_at(what->index), "filter", value, arguments);
        else
          fail_unknown_filter(*this, what->line, what->value.uncharged());
        break;
      case Kind::Test:
        if (!evaluate_arguments(what->first, &arguments)) break;
        if (what->index == kUnknown)
          fail_unknown_test(*this, what->line, what->value.uncharged());
        else
          value = boolean(truth(call(test_at(what->index), "test", value, arguments)) != what->flag);
        break;
      default: break;
    }
  }
  return value;
}

bool Evaluator::evaluate_arguments(const Node* first, Arguments* out) {
  uint32_t count = 0;
  for (const Node* argument = first; argument != nullptr; argument = argument->next) ++count;
  if (count == 0) return true;
  auto* values = make<Value>(count);
  auto* named = make<Named>(count);
  if (values == nullptr || named == nullptr) return false;
  const uint32_t before = line;
  for (const Node* argument = first; argument != nullptr && !failed(); argument = argument->next) {
    const Value value = evaluate(argument->first);
    if (argument->value.is(Type::String))
      named[out->named_count++] = {argument->value.uncharged(), value};
    else
      values[out->count++] = value;
  }
  line = before;
  out->values = values;
  out->named = named;
  return !failed();
}

namespace {

// Evaluates an index of a slice; `missing` if absent. False if it is not an integer.
bool place_of(const Value& place, int64_t missing, int64_t* out) {
  *out = place.is_integral() ? place.integer : missing;
  return place.is_integral() || place.is(Type::None);
}

}  // namespace

Value Evaluator::evaluate_slice(const Node* node, const Value& value) {
  const auto place = [&](const Node* at) { return at != nullptr ? evaluate(at) : none(); };
  const auto part = [&](const Value& text) { return value.safe ? markup(text) : text; };
  const Value from = place(node->first), to = place(node->second), by = place(node->third);
  if (failed() || value.is(Type::Undefined)) return fail_undefined(value);
  int64_t first = 0, end = 0, stride = 0;
  const bool indexed = value.is(Type::List) || value.is(Type::Tuple) || value.is(Type::String);
  if (!indexed) return fail("'%s' object has no slices", type_name(value.type));
  if (!place_of(by, 1, &stride)) return fail("slice indices must be integers or None");
  if (stride == 0) return fail("slice step cannot be zero");
  const std::string_view text = value.is(Type::String) ? read_characters(value) : std::string_view();
  const auto size = static_cast<int64_t>(value.is(Type::String) ? count_characters(text) : value.size);
  const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  if (!place_of(from, stride > 0 ? low : high, &first) || !place_of(to, stride > 0 ? high : low, &end))
    return fail("slice indices must be integers or None");
  const auto within = [&](const Value& given, int64_t at) {
    if (given.is(Type::None)) return at;
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  first = within(from, first);
  end = within(to, end);
  const int64_t width = std::max<int64_t>(stride > 0 ? end - first : first - end, 0);
  const uint64_t pace = stride > 0 ? static_cast<uint64_t>(stride) : uint64_t{0} - static_cast<uint64_t>(stride);
  const auto count = static_cast<size_t>((static_cast<uint64_t>(width) + pace - 1) / pace);
  if (value.is(Type::String) && stride == 1) {
    const std::string_view tail = text.substr(bytes_of(text, static_cast<size_t>(first)));
    return part(string(count > 0 ? tail.substr(0, bytes_of(tail, count)) : std::string_view()));
  }
  if (stride == 1) return sequence(value.type, value.items + (count > 0 ? first : 0), count);
  const Value all = elements(value);
  auto* items = make<Value>(count + 1);
  if (items == nullptr) return {};
  for (size_t i = 0; i < count && step(); ++i) items[i] = all.items[first + static_cast<int64_t>(i) * stride];
  if (!value.is(Type::String)) return sequence(value.type, items, count);
  const size_t mark = length();
  for (size_t i = 0; i < count; ++i) append(items[i].uncharged());
  return part(take(mark));
}

}  // namespace ferry::jinja
