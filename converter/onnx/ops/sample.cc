#include "converter/onnx/ops/sample.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

// The neighbour before or after a coordinate along a side: its clamped index, and its weight.
struct Tap {
  Tensor place, share;
};

Tap tap(Tensor position, Tensor place, int64_t size) {
  const Tensor inside = unary(place, Unary::Clamp, 0, static_cast<double>(size - 1));
  const Tensor is_inside = cast_to(binary(Binary::Equal, place, inside), fbs::DType::Float32);
  return {inside, (scalar(place, 1) - unary(position - place, Unary::Abs)) * is_inside};
}

}  // namespace

Tensor sample(Op& op, Tensor maps, Tensor y, Tensor x, bool nearest) {
  const Dims d = dims_of(maps), positions = dims_of(y);
  if (d[1] * d[2] > 1 << 24) op.refuse("a map of %lld positions", static_cast<long long>(d[1] * d[2]));
  const Tensor rows = reshape_to(maps, {d[0], d[1] * d[2], d[3]});
  const Tensor top = unary(y, Unary::Floor), left = unary(x, Unary::Floor);
  std::optional<Tensor> sum;
  for (const int dy : {0, 1}) {
    for (const int dx : {0, 1}) {
      if (nearest && dy + dx > 0) continue;
      const Tap row = tap(y, dy == 0 ? top : top + 1.0, d[1]), column = tap(x, dx == 0 ? left : left + 1.0, d[2]);
      const Tensor index = cast_to(row.place * static_cast<double>(d[2]) + column.place, fbs::DType::Int32);
      fbs::GatherT gather;
      gather.kind = fbs::GatherKind::Tuples;
      gather.axis = 1;
      const Dims each = {positions[0], positions[1], 1};
      const Tensor found = op.graph().add_op("", gather, {rows, reshape_to(index, each)});
      const Tensor part = found * reshape_to(row.share * column.share, each);
      sum = sum ? *sum + part : part;
    }
  }
  return *sum;
}

}  // namespace ferry::onnx
