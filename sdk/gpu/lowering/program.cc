#include "sdk/gpu/lowering/program.h"

#include <algorithm>

namespace ferry::gpu {

Rows rows_of(const Shape& shape) {
  if (shape.rank == 0) return {};
  const int32_t channels = shape[shape.rank - 1];
  return {static_cast<uint32_t>(shape.elements() / channels), static_cast<uint32_t>(channels)};
}

std::array<uint32_t, 3> spread(uint64_t count, uint32_t workgroup, const Limits& limits) {
  const uint64_t groups = std::max<uint64_t>((count + workgroup - 1) / workgroup, 1);
  const uint64_t x = std::min<uint64_t>(groups, limits.workgroup_count[0]);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>((groups + x - 1) / x), 1};
}

Dispatch transfer(Kernel kernel, TensorId tensor, const Shape& shape, Storage storage, const Limits& limits,
                  fbs::DType dtype) {
  const Rows rows = rows_of(shape);
  const bool up = kernel == Kernel::Upload;
  Dispatch dispatch;
  dispatch.variant = {.kernel = kernel, .storage = storage, .count = 3, .constants = {kWorkgroup, 1, 1}};
  if (dtype == fbs::DType::Int32) dispatch.variant.constants[dispatch.variant.count++] = 1;
  dispatch.groups = spread(rows.total(), kWorkgroup, limits);
  dispatch.bindings[0] = up ? Operand::value(tensor) : Operand::host(tensor);
  dispatch.bindings[1] = up ? Operand::host(tensor) : Operand::value(tensor);
  dispatch.push = {rows.rows, rows.channels, rows.quads()};
  return dispatch;
}

uint64_t Region::quads() const {
  uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.quads;
  return total;
}

}  // namespace ferry::gpu
