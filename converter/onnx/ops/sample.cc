#include "converter/onnx/ops/sample.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

// The neighbour at an offset of 0 or 1 of the coordinate's whole part, whose weight falls linearly with its distance.
Tap linear_tap(Tensor position, Tensor place, int64_t size) {
  const Tensor inside = unary(place, Unary::Clamp, 0, static_cast<double>(size - 1));
  return {inside, (scalar(place, 1) - unary(position - place, Unary::Abs)) * is_inside(place, inside)};
}

std::vector<Tap> linear_taps(Tensor position, int64_t size, bool nearest) {
  const Tensor first = unary(position, Unary::Floor);
  std::vector<Tap> taps = {linear_tap(position, first, size)};
  if (!nearest) taps.push_back(linear_tap(position, first + 1.0, size));
  return taps;
}

}  // namespace

Tensor is_inside(Tensor place, Tensor inside) {
  return cast_to(binary(Binary::Equal, place, inside), fbs::DType::Float32);
}

Tensor sum_of_taps(Op& op, Tensor maps, const std::vector<Tap>& rows, const std::vector<Tap>& columns) {
  const Dims d = dims_of(maps), positions = dims_of(rows[0].place);
  if (d[1] * d[2] > 1 << 24) op.refuse("a map of %lld positions", static_cast<long long>(d[1] * d[2]));
  const Tensor pixels = reshape_to(maps, {d[0], d[1] * d[2], d[3]});
  const Dims each = {positions[0], positions[1], 1};
  std::optional<Tensor> sum;
  for (const Tap& row : rows) {
    for (const Tap& column : columns) {
      const Tensor index = cast_to(row.place * static_cast<double>(d[2]) + column.place, fbs::DType::Int32);
      fbs::GatherT gather;
      gather.kind = fbs::GatherKind::Tuples;
      gather.axis = 1;
      const Tensor found = op.graph().add_op("", gather, {pixels, reshape_to(index, each)});
      const Tensor part = found * reshape_to(row.share * column.share, each);
      sum = sum ? *sum + part : part;
    }
  }
  return *sum;
}

Tensor sample(Op& op, Tensor maps, Tensor y, Tensor x, bool nearest) {
  const Dims d = dims_of(maps);
  return sum_of_taps(op, maps, linear_taps(y, d[1], nearest), linear_taps(x, d[2], nearest));
}

}  // namespace ferry::onnx
