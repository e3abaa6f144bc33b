// Distances, complex products, Fourier transforms, and movement of elements.
#include <cmath>
#include <numbers>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx::microsoft {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

// (a0 + i a1) (b0 + i b1), or with the conjugate of b; the last dimension has the two parts.
void multiply_complex(Op& op, double sign) {
  const auto part = [&](size_t input, int i) {
    const Tensor x = op.tensor(input);
    const int last = x.shape().rank - 1;
    if (last < 0 || x.shape()[last] != 2)
      op.refuse("input %zu is %s, expected a last dimension of 2", input, to_string(dims_of(x)).c_str());
    return ferry::slice(x, last, i, 1);
  };
  const Tensor real = part(0, 0) * part(1, 0) - part(0, 1) * part(1, 1) * sign;
  const Tensor imaginary = part(0, 1) * part(1, 0) + part(0, 0) * part(1, 1) * sign;
  op.set(ferry::concat({real, imaginary}, real.shape().rank - 1));
}

constexpr int64_t kMaxSignal = 4096;

// The matrix of a transform of a real signal, by `angle` = 2 pi k n / size.
template <typename Value>
Array transform(int64_t rows, int64_t columns, int64_t size, Value value) {
  std::vector<double> values(static_cast<size_t>(count_computed({rows, columns})));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t r = static_cast<int64_t>(i) / columns, c = static_cast<int64_t>(i) % columns;
    values[i] = value(r, c, [size](int64_t product) {
      return 2 * std::numbers::pi * static_cast<double>(product % size) / static_cast<double>(size);
    });
  }
  return make_array(Type::Float32, {rows, columns}, values);
}

void check_signal(Op& op, int64_t size) {
  if (op.integer("signal_ndim", 1) != 1 || op.integer("normalized", 0) != 0 || op.integer("onesided", 1) != 1)
    op.refuse("expected signal_ndim 1, normalized 0 and onesided 1");
  if (size < 2 || size > kMaxSignal || size % 2 != 0)
    op.refuse("a signal of %lld, expected an even number up to %lld", static_cast<long long>(size),
              static_cast<long long>(kMaxSignal));
}

}  // namespace

void complex_mul(Op& op) { multiply_complex(op, 1); }
void complex_mul_conj(Op& op) { multiply_complex(op, -1); }

// The distance of each row of A [M,N] from each row of B [K,N].
void cdist(Op& op) {
  const std::string metric = op.text("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    op.refuse("attribute 'metric' is '%s', expected euclidean or sqeuclidean", metric.c_str());
  const Dims a = op.dims(0), b = op.dims(1);
  if (a.size() != 2 || b.size() != 2 || a[1] != b[1])
    op.refuse("matrices of %s and %s", to_string(a).c_str(), to_string(b).c_str());
  const Tensor difference = reshape_to(op.tensor(0), {a[0], 1, a[1]}) - reshape_to(op.tensor(1), {1, b[0], b[1]});
  const Tensor squares = reduce(unary(difference, Unary::Square), fbs::ReduceKind::Sum, {2}, false);
  op.set(metric == "euclidean" ? unary(squares, Unary::Sqrt) : squares);
}

void expand_dims(Op& op) {
  const int64_t axis = op.axis(to_integer(op.single(1, "axis")), op.rank(0) + 1);
  const Argument axes = make_vector({axis});
  const Argument y = call_all(op, onnx::unsqueeze, {argument(op, 0), axes}, {}, 1).front();
  op.set(y.value, op.type(0));
}

// [...,n] to [...,n/2+1,2].
void rfft(Op& op) {
  Dims dims = op.dims(0);
  const int64_t size = dims.empty() ? 0 : dims.back(), half = size / 2 + 1;
  check_signal(op, size);
  const Array matrix = transform(2 * half, size, size, [](int64_t r, int64_t n, auto angle) {
    return r % 2 == 0 ? std::cos(angle(r / 2 * n)) : -std::sin(angle(r / 2 * n));
  });
  const Tensor weight = add_constant(op.graph(), op.node().name + ".transform", matrix);
  dims.back() = half;
  dims.push_back(2);
  op.set(reshape_to(op.graph().add_op("", fbs::LinearT{}, {op.tensor(0), weight}), dims));
}

// The inverse; the imaginary parts of the first and last coefficient have no effect.
void irfft(Op& op) {
  Dims dims = op.dims(0);
  if (dims.size() < 2 || dims.back() != 2) op.refuse("an input of %s, expected [...,n/2+1,2]", to_string(dims).c_str());
  const int64_t half = dims[dims.size() - 2], size = 2 * (half - 1);
  check_signal(op, size);
  const Array matrix = transform(size, 2 * half, size, [=](int64_t n, int64_t c, auto angle) {
    const double weight = (c / 2 == 0 || c / 2 == half - 1 ? 1.0 : 2.0) / static_cast<double>(size);
    return weight * (c % 2 == 0 ? std::cos(angle(c / 2 * n)) : -std::sin(angle(c / 2 * n)));
  });
  const Tensor weight = add_constant(op.graph(), op.node().name + ".transform", matrix);
  dims.pop_back();
  dims.back() = 2 * half;
  op.set(op.graph().add_op("", fbs::LinearT{}, {reshape_to(op.tensor(0), dims), weight}));
}

// Pads may be [1,2r], too.
void pad(Op& op) {
  const Array& pads = op.array(1, "pads");
  op.set(call(op, onnx::pad, {argument(op, 0), pads.reshaped({pads.elements()}), argument(op, 2)}), op.type(0));
}

void range(Op& op) {
  const Argument one = make_array(op.type(0), {}, std::vector<double>{1});
  const Argument y =
      call_all(op, onnx::range, {argument(op, 0), argument(op, 1), op.has(2) ? argument(op, 2) : one}, {}, 1).front();
  op.set(y.value, y.type);
}

void torch_embedding(Op& op) { op.set(call(op, onnx::gather, {argument(op, 0), argument(op, 1)}, {}), op.type(0)); }

// All slices of `size` along `dim`, every `step`; positions in a slice are the last dimension of the result.
void unfold_tensor(Op& op) {
  const int axis = op.axis(op.integer("dim", -1), op.rank(0));
  const int64_t size = op.integer("size", 0), step = op.integer("step", 1);
  Dims dims = op.dims(0);
  const auto at = static_cast<size_t>(axis);
  if (size < 1 || step < 1 || size > dims[at])
    op.refuse("slices of %lld every %lld of %lld", static_cast<long long>(size), static_cast<long long>(step),
              static_cast<long long>(dims[at]));
  const int64_t count = (dims[at] - size) / step + 1;
  std::vector<int64_t> positions;
  count_computed({count, size});
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) positions.push_back(i * step + k);
  const Tensor picked = pick(op, op.tensor(0), axis, positions);
  dims[at] = count;
  dims.insert(dims.begin() + axis + 1, size);
  std::vector<int32_t> perm;
  for (int d = 0; d < static_cast<int>(dims.size()); ++d)
    if (d != axis + 1) perm.push_back(d);
  perm.push_back(axis + 1);
  op.set(ferry::transpose(reshape_to(picked, dims), perm), op.type(0));
}

}  // namespace ferry::onnx::microsoft
