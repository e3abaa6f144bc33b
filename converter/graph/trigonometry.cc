#include "converter/graph/trigonometry.h"

#include <numbers>
#include <vector>

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"

namespace ferry {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

Tensor quotient(Tensor a, Tensor b) { return binary(Binary::Div, a, b); }
Tensor is_below(Tensor a, double bound) { return binary(Binary::Less, a, scalar(a, bound)); }
Tensor is_above(Tensor a, double bound) { return binary(Binary::Less, scalar(a, bound), a); }

// x * (1 + c[0] x^2 + c[1] x^4 + ...).
Tensor odd_polynomial(Tensor x, const std::vector<double>& c) {
  const Tensor z = x * x;
  Tensor sum = z * c.back();
  for (size_t i = c.size() - 1; i-- > 0;) sum = (sum + c[i]) * z;
  return x + x * sum;
}

// `of_magnitude`, which is a value for |x|, with the sign of x.
Tensor with_sign(Tensor x, Tensor of_magnitude) { return select(is_below(x, 0), of_magnitude * -1.0, of_magnitude); }

// e^|x| / 2, by the square of e^(|x|/2), which overflows only where the result does.
Tensor half_exponential(Tensor x) {
  const Tensor root = unary(unary(x, Unary::Abs) * 0.5, Unary::Exp);
  return root * 0.5 * root;
}

// The power series of atanh, for |x| <= 1/3.
Tensor small_area_tangent(Tensor x) {
  return odd_polynomial(x, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13});
}

// log(1 + u) = 2 atanh(u / (2 + u)) for 0 <= u < 1.
Tensor log_plus_one(Tensor u) {
  const Tensor near = small_area_tangent(quotient(u, u + 2.0)) * 2.0;
  return select(is_below(u, 1), near, unary(u + 1.0, Unary::Log));
}

// asinh(a) and acosh(a) are log(2 a) in float32 from here on; the squares below would overflow later.
constexpr double kLarge = 1e4;
Tensor unless_large(Tensor a, Tensor value) {
  return select(is_above(a, kLarge), unary(a, Unary::Log) + std::numbers::ln2, value);
}

}  // namespace

// atan(a) = pi/2 - atan(1/a), and atan(t) = pi/4 + atan((t - 1) / (t + 1)) above tan(pi/8). Below, the polynomial is
// fitted to the least maximum of its relative error, 2e-8.
Tensor arc_tangent(Tensor x) {
  const Tensor a = unary(x, Unary::Abs), large = is_above(a, 1);
  const Tensor t = select(large, quotient(scalar(a, 1), a), a);
  const Tensor upper = is_above(t, std::numbers::sqrt2 - 1);
  const Tensor reduced = select(upper, quotient(t + -1.0, t + 1.0), t);
  const Tensor near = odd_polynomial(reduced, {-0.3333295387, 0.1997786691, -0.1387915175, 0.08057877138});
  const Tensor angle = select(upper, near + std::numbers::pi / 4, near);
  return with_sign(x, select(large, angle * -1.0 + std::numbers::pi / 2, angle));
}

// The half-angle formulas; the square root is not a number outside of [-1, 1].
Tensor arc_sine(Tensor x) {
  const Tensor cosine = unary((x * -1.0 + 1.0) * (x + 1.0), Unary::Sqrt);
  return arc_tangent(quotient(x, cosine + 1.0)) * 2.0;
}
Tensor arc_cosine(Tensor x) { return arc_tangent(unary(quotient(x * -1.0 + 1.0, x + 1.0), Unary::Sqrt)) * 2.0; }

Tensor hyperbolic_cosine(Tensor x) {
  const Tensor half = half_exponential(x);
  return half + quotient(scalar(x, 0.25), half);
}

// The power series up to 1.
Tensor hyperbolic_sine(Tensor x) {
  const Tensor half = half_exponential(x);
  const Tensor far = with_sign(x, half - quotient(scalar(x, 0.25), half));
  const Tensor near = odd_polynomial(x, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880});
  return select(is_below(unary(x, Unary::Abs), 1), near, far);
}

Tensor area_sine(Tensor x) {
  const Tensor a = unary(x, Unary::Abs), square = a * a;
  const Tensor u = a + quotient(square, unary(square + 1.0, Unary::Sqrt) + 1.0);
  return with_sign(x, unless_large(a, log_plus_one(u)));
}

// Two square roots, so that arguments below 1 are not numbers.
Tensor area_cosine(Tensor x) {
  const Tensor t = x + -1.0;
  return unless_large(x, log_plus_one(t + unary(t, Unary::Sqrt) * unary(t + 2.0, Unary::Sqrt)));
}

Tensor area_tangent(Tensor x) {
  const Tensor far = unary(quotient(x + 1.0, x * -1.0 + 1.0), Unary::Log) * 0.5;
  return select(is_below(unary(x, Unary::Abs), 1.0 / 3), small_area_tangent(x), far);
}

}  // namespace ferry
