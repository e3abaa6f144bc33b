// A reference::Function per operator, conv2d() and so on, each in its own file, for inputs that fit the parameters.
// Each reads its parameters before its loops, because an accessor of the blob takes longer than a product.
#pragma once

#include <limits>
#include <span>

#include "sdk/operators/operators.h"
#include "sdk/reference/reference.h"

namespace ferry::reference {

#define FERRY_REFERENCE(Type, name, ...) void name(const fbs::Operator& op, Inputs inputs, Array& output);
FERRY_OPERATORS(FERRY_REFERENCE)
#undef FERRY_REFERENCE

// The second output of top_k: the elements of x at the positions of its first output.
std::vector<double> values_at(const Array& x, const Array& positions);

// Output `index`, above 0, of loop_begin, or of loop_end after the step that its inputs are of. `first`: output 0.
std::vector<double> loop_output(const fbs::Operator& op, Inputs inputs, const Array& first, size_t index);

// The states of causal_conv1d and gated_delta_rule after a run; `inputs` as above.
std::vector<double> inputs_after(Inputs inputs);
std::vector<double> matrices_after(Inputs inputs);

// ---- coordinates of an element --------------------------------------------------------------------------------------

// One per dimension.
using Coordinates = std::array<int64_t, FERRY_MAX_RANK>;

// The index of the element at `at` in a row-major array.
inline size_t index_of(const Shape& shape, const Coordinates& at) {
  int64_t index = 0;
  for (int i = 0; i < shape.rank; ++i) index = index * shape[i] + at[static_cast<size_t>(i)];
  return static_cast<size_t>(index);
}

// visit(index, coordinates) for every element, in order.
template <typename Visit>
void for_each_element(const Shape& shape, const Visit& visit) {
  Coordinates at{};
  const int64_t count = shape.elements();
  for (int64_t index = 0; index < count; ++index) {
    visit(static_cast<size_t>(index), at);
    for (int i = shape.rank; i-- > 0;) {
      if (++at[static_cast<size_t>(i)] < shape[i]) break;
      at[static_cast<size_t>(i)] = 0;
    }
  }
}

// The element of a smaller array that NumPy's broadcasting puts at `at` of `output`.
inline double broadcast(const Array& array, const Shape& output, const Coordinates& at) {
  Coordinates from{};
  for (int i = 0; i < array.shape.rank; ++i)
    if (array.shape[i] > 1) from[static_cast<size_t>(i)] = at[static_cast<size_t>(i + output.rank - array.shape.rank)];
  return array.values[index_of(array.shape, from)];
}

// Where in `x` the element lies that Gather puts at `at` of its output; an update of Scatter at `at` falls there.
size_t gathered_from(fbs::GatherKind kind, int axis, const Array& x, const Array& indices, const Shape& output,
                     const Coordinates& at);

// sums[j] += x * row j of `weight`, for up to four rows of `count` elements that are `stride` apart. Four sums at once
// take a quarter of the time, and each one still adds its products in order, so that its bits do not depend on the
// others.
inline void add_products(const double* x, const double* weight, int64_t stride, int64_t count, int64_t rows,
                         double* sums) {
  if (rows < 4) {
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t i = 0; i < count; ++i) sums[j] += x[i] * weight[j * stride + i];
    return;
  }
  double a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  for (int64_t i = 0; i < count; ++i, ++weight) {
    a += x[i] * weight[0];
    b += x[i] * weight[stride];
    c += x[i] * weight[2 * stride];
    d += x[i] * weight[3 * stride];
  }
  sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

// What is left of a whole number in 32 bits.
inline double wrapped(int64_t value) { return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(value))); }

// Of two whole numbers of 32 bits.
inline double wrapped_product(double a, double b) { return wrapped(static_cast<int64_t>(a) * static_cast<int64_t>(b)); }

// NaN in either operand is the result, as in NumPy and PyTorch.
inline double maximum(double a, double b) { return a != a || a > b ? a : b; }
inline double minimum(double a, double b) { return a != a || a < b ? a : b; }

// The bounds of a product's clamp; of integers, whose sums have another scale, none.
template <typename Params>
float minimum_of(const Params& p, const Array& x) {
  return x.dtype == fbs::DType::Int8 ? -std::numeric_limits<float>::infinity() : p.output_min();
}
template <typename Params>
float maximum_of(const Params& p, const Array& x) {
  return x.dtype == fbs::DType::Int8 ? std::numeric_limits<float>::infinity() : p.output_max();
}

inline double clamp(double value, float low, float high) {
  if (value < static_cast<double>(low)) return static_cast<double>(low);
  return value > static_cast<double>(high) ? static_cast<double>(high) : value;
}

}  // namespace ferry::reference
