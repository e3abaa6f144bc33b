#include <algorithm>
#include <cmath>

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {
namespace {

constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

Value unsupported(Evaluator& run, Operation operation, const Value& a, const Value& b) {
  if (operation == Operation::Add && a.is(Type::String))
    return run.fail("can only concatenate str (not \"%s\") to str", type_name(b.type));
  return run.fail("unsupported operand type(s) for %s: '%s' and '%s'", kSigns[static_cast<int>(operation)],
                  type_name(a.type), type_name(b.type));
}

Value joined(Evaluator& run, const Value& a, const Value& b) {
  const size_t count = size_t{a.size} + b.size;
  auto* items = run.make<Value>(count + 1);
  if (items == nullptr || !run.step(count)) return {};
  std::copy(a.items, a.items + a.size, items);
  std::copy(b.items, b.items + b.size, items + a.size);
  return sequence(a.type, items, count);
}

Value repeated(Evaluator& run, const Value& value, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (value.size == 0) times = 0;
  if (value.is(Type::String)) {
    if (times > static_cast<int64_t>(kMaxTextBytes / std::max(value.size, 1u)))
      return run.fail("the text grows beyond %zu bytes", kMaxTextBytes);
    const size_t mark = run.length();
    for (int64_t i = 0; i < times && !run.failed(); ++i) run.append(value.uncharged());
    const Value made = run.take(mark);
    return value.safe ? markup(made) : made;
  }
  if (times > static_cast<int64_t>(kMaxValueBytes / sizeof(Value) / std::max(value.size, 1u)))
    return run.fail("values take more than %zu bytes", kMaxValueBytes);
  const size_t count = static_cast<size_t>(times) * value.size;
  auto* items = run.make<Value>(count + 1);
  if (items == nullptr || !run.step(count)) return {};
  for (size_t i = 0; i < count; ++i) items[i] = value.items[i % value.size];
  return sequence(value.type, items, count);
}

// What fmod() costs at most: old ones take a step per bit of the quotient.
constexpr size_t kRemainderSteps = 50;

Value of_floats(Evaluator& run, Operation operation, double a, double b) {
  const bool divides =
      operation == Operation::Divide || operation == Operation::FloorDivide || operation == Operation::Modulo;
  if (divides && b == 0) return run.fail("division by zero");
  if (!run.step(kRemainderSteps)) return {};
  switch (operation) {
    case Operation::Add: return real(a + b);
    case Operation::Subtract: return real(a - b);
    case Operation::Multiply: return real(a * b);
    case Operation::Divide: return real(a / b);
    default: break;
  }
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return real(operation == Operation::Modulo ? rest : std::round((a - rest) / b));
}

Value of_integers(Evaluator& run, Operation operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool fits = true;
  switch (operation) {
    case Operation::Add: fits = !__builtin_add_overflow(a, b, &result); break;
    case Operation::Subtract: fits = !__builtin_sub_overflow(a, b, &result); break;
    case Operation::Multiply: fits = !__builtin_mul_overflow(a, b, &result); break;
    case Operation::Divide: return of_floats(run, operation, static_cast<double>(a), static_cast<double>(b));
    default:
      if (b == 0) return run.fail("division by zero");
      if (b == -1) {
        fits = operation == Operation::Modulo || !__builtin_sub_overflow(int64_t{0}, a, &result);
        break;
      }
      // Floor division; the remainder has the divisor's sign.
      const bool uneven = a % b != 0 && (a < 0) != (b < 0);
      result = operation == Operation::Modulo ? a % b + (uneven ? b : 0) : a / b - uneven;
  }
  return fits ? integer(result) : run.fail("an integer grows beyond 64 bits");
}

bool ordered(Operation operation) { return operation >= Operation::Less && operation <= Operation::GreaterEqual; }

}  // namespace

Value Evaluator::power(const Value& a, const Value& b) {
  if (!step(4)) return {};
  if (!a.is_integral() || !b.is_integral() || b.integer < 0) {
    if (a.number() == 0 && b.number() < 0) return fail("0.0 cannot be raised to a negative power");
    return real(std::pow(a.number(), b.number()));
  }
  int64_t result = 1, base = a.integer;
  for (int64_t exponent = b.integer;;) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) break;
    exponent >>= 1;
    if (exponent == 0) return integer(result);
    if (__builtin_mul_overflow(base, base, &base)) break;
  }
  return fail("an integer grows beyond 64 bits");
}

Value Evaluator::modulo(const Value& a, const Value& b) {
  const bool several = b.is(Type::Tuple);
  return format(*this, a, {several ? b.items : &b, several ? b.size : 1, nullptr, 0});
}

Value Evaluator::apply(Operation operation, const Value& a, const Value& b) {
  if (failed()) return {};
  switch (operation) {
    case Operation::Join: {
      const size_t mark = length();
      write(a);
      write(b);
      return take(mark);
    }
    case Operation::Equal: return boolean(equal(*this, a, b));
    case Operation::NotEqual: return boolean(!equal(*this, a, b));
    case Operation::In: return boolean(contains(b, a));
    case Operation::NotIn: return boolean(!contains(b, a));
    default: break;
  }
  if (a.is(Type::Undefined)) return fail_undefined(a);
  if (b.is(Type::Undefined)) return fail_undefined(b);
  if (ordered(operation)) {
    const bool swapped = operation == Operation::Greater || operation == Operation::LessEqual;
    const bool below = swapped ? less(*this, b, a) : less(*this, a, b);
    const bool negated = operation == Operation::LessEqual || operation == Operation::GreaterEqual;
    const bool not_a_number = std::isnan(a.is_number() ? a.number() : 0) || std::isnan(b.is_number() ? b.number() : 0);
    return boolean(below != negated && !not_a_number);
  }
  const bool same = a.type == b.type;
  if (a.is_number() && b.is_number()) {
    if (operation == Operation::Power) return power(a, b);
    return a.is_integral() && b.is_integral() ? of_integers(*this, operation, a.integer, b.integer)
                                              : of_floats(*this, operation, a.number(), b.number());
  }
  if (operation == Operation::Add && same && a.is(Type::String)) {
    const bool safe = a.safe || b.safe;
    const Value left = safe ? escaped(a) : a, right = safe ? escaped(b) : b;
    const size_t mark = length();
    append(left.uncharged());
    append(right.uncharged());
    const Value made = take(mark);
    return safe ? markup(made) : made;
  }
  if (operation == Operation::Add && same && (a.is(Type::List) || a.is(Type::Tuple))) return joined(*this, a, b);
  if (operation == Operation::Multiply) {
    const auto repeats = [](const Value& v) { return v.is(Type::String) || v.is(Type::List) || v.is(Type::Tuple); };
    if (repeats(a) && b.is_integral()) return repeated(*this, a, b.integer);
    if (repeats(b) && a.is_integral()) return repeated(*this, b, a.integer);
  }
  if (operation == Operation::Modulo && a.is(Type::String)) return modulo(a, b);
  return unsupported(*this, operation, a, b);
}

}  // namespace ferry::jinja
