#include <algorithm>

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {
namespace {

// Removes and returns the first word of a list.
std::string_view next_word(std::string_view* list) {
  const size_t end = std::min(list->find(' '), list->size());
  const std::string_view word = list->substr(0, end);
  list->remove_prefix(std::min(end + 1, list->size()));
  return word;
}

int length_of(std::string_view text) { return static_cast<int>(std::min<size_t>(text.size(), 100)); }

}  // namespace

Value Evaluator::call(const Native& native, const char* what, const Value& subject, const Arguments& arguments) {
  if (failed()) return {};
  const Deeper deeper(*this);
  if (native.parameters == nullptr) return native.call(*this, subject, arguments);
  Value values[kMaxParameters];
  uint32_t count = 0, used = 0;
  for (std::string_view names = native.parameters; !names.empty(); ++count) {
    const Value* named = arguments.find(*this, next_word(&names));
    values[count] = count < arguments.count ? arguments[count] : named != nullptr ? *named : absent();
    used += count >= arguments.count && named != nullptr;
  }
  if (arguments.count > count)
    return fail("the %s '%.*s' takes at most %u arguments, not %u", what, length_of(native.name), native.name.data(),
                count, arguments.count);
  if (used < arguments.named_count)
    return fail("the %s '%.*s' has no argument '%.*s', or has it twice; it has (%s)", what, length_of(native.name),
                native.name.data(), length_of(arguments.named[0].name), arguments.named[0].name.data(),
                native.parameters);
  return native.call(*this, subject, {values, count, nullptr, 0});
}

Value Evaluator::call(const Value& function, const Arguments& arguments) {
  if (failed() || function.is(Type::Undefined)) return fail_undefined(function);
  if (!function.is(Type::Function)) return fail("'%s' object is not callable", type_name(function.type));
  if (function.function->macro != nullptr) return call_macro(*function.function, arguments);
  if (function.function->subject.safe) return call_markup(*function.function, arguments);
  return call(*function.function->native, "function", function.function->subject, arguments);
}

// A method of Markup: arguments that become part of the result are escaped, and the result is Markup.
Value Evaluator::call_markup(const Function& function, const Arguments& arguments) {
  const std::string_view name = function.native->name;
  constexpr std::string_view kEscaping[] = {"join", "replace", "ljust", "rjust", "partition", "rpartition"};
  const bool escapes = std::find(std::begin(kEscaping), std::end(kEscaping), name) != std::end(kEscaping);
  Arguments given = arguments;
  if (escapes && arguments.count > 0) {
    auto* values = make<Value>(arguments.count);
    if (values == nullptr) return {};
    std::copy(arguments.values, arguments.values + arguments.count, values);
    // replace() looks for its first argument as it is.
    for (uint32_t i = name == "replace" ? 1 : 0; i < arguments.count; ++i)
      if (values[i].is(Type::String)) values[i] = escaped(values[i]);
    if (name == "join") {
      const Value items = elements(arguments[0]);
      auto* words = make<Value>(items.size + 1);
      if (words == nullptr) return {};
      for (uint32_t i = 0; i < items.size && step(); ++i) words[i] = escaped(items.items[i]);
      values[0] = sequence(Type::List, words, items.size);
    }
    given.values = values;
  }
  const Value result = call(*function.native, "function", function.subject, given);
  if (!result.is(Type::List) && !result.is(Type::Tuple)) return markup(result);
  auto* parts = make<Value>(result.size + 1);
  if (parts == nullptr) return {};
  for (uint32_t i = 0; i < result.size; ++i) parts[i] = markup(result.items[i]);
  return sequence(result.type, parts, result.size);
}

Value Evaluator::call_macro(const Function& function, const Arguments& arguments) {
  const Deeper deeper(*this);
  const Node& macro = *function.macro;
  const std::string_view name = macro.value.uncharged();
  Scope* outer = scope_;
  scope_ = new_scope(function.scope);
  uint32_t place = 0, used = 0;
  for (const Node* parameter = macro.first; parameter != nullptr && !failed(); parameter = parameter->next, ++place) {
    const std::string_view parameter_name = parameter->value.uncharged();
    const Value* named = arguments.find(*this, parameter_name);
    used += named != nullptr && place >= arguments.count;
    if (place < arguments.count)
      bind(parameter_name, arguments[place]);
    else if (named != nullptr)
      bind(parameter_name, *named);
    else
      bind(parameter_name, parameter->first != nullptr ? evaluate(parameter->first) : undefined({}, parameter_name));
  }
  if (const Value* caller = arguments.find(*this, "caller")) {
    bind("caller", *caller);
    ++used;
  }
  const uint32_t before = line;
  if (arguments.count > place)
    fail("macro '%.*s' takes not more than %u argument(s)", length_of(name), name.data(), place);
  else if (used < arguments.named_count)
    fail("macro '%.*s' takes no keyword argument '%.*s', or has it twice", length_of(name), name.data(),
         length_of(arguments.named[0].name), arguments.named[0].name.data());
  const size_t mark = length();
  execute(macro.second);
  scope_ = outer;
  line = before;
  return take(mark);
}

}  // namespace ferry::jinja
