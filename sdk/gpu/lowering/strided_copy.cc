#include "sdk/gpu/lowering/strided_copy.h"

#include <bit>

namespace ferry::gpu {

int64_t stored_stride(const Shape& shape, int d) {
  if (d == shape.rank - 1) return 1;
  int64_t stride = int64_t{rows_of(shape).quads()} * 4;
  for (int i = d + 1; i + 1 < shape.rank; ++i) stride *= shape[i];
  return stride;
}

Status add_strided_copy(std::vector<CopiedDim> dims, int64_t base, float fill, Lowering* out, const Operand& input,
                        const Operand& output) {
  constexpr size_t kDims = 6;
  if (dims.size() > kDims) return unsupported("more than %zu dimensions", kDims);
  dims.insert(dims.begin(), kDims - dims.size(), {.size = 1, .stride = 0});
  bool whole = base % 4 == 0 && dims[5].stride == 1 && dims[5].before % 4 == 0;
  for (CopiedDim& dim : dims) {
    if (dim.limit == 0) dim.limit = dim.size - dim.before;
    if (&dim != &dims[5] && dim.size > 1) whole = whole && dim.stride % 4 == 0;
  }
  // A quad partly beyond the input's last element is filled lane by lane.
  if (dims[5].before + dims[5].limit < dims[5].size && dims[5].limit % 4 != 0) whole = false;

  uint64_t rows = 1;
  for (size_t d = 0; d + 1 < kDims; ++d) rows *= static_cast<uint64_t>(dims[d].size);
  const uint32_t quads = (static_cast<uint32_t>(dims[5].size) + 3) / 4;
  Call call{.kernel = Kernel::StridedCopy,
            .groups = spread(rows * quads, 64, out->problem().limits),
            .constants = {whole ? 1u : 0u}};
  for (const CopiedDim& dim : dims) call.push.append(word(dim.size));
  for (const CopiedDim& dim : dims) call.push.append(word(dim.stride));
  for (const CopiedDim& dim : dims) call.push.append(word(dim.before));
  for (const CopiedDim& dim : dims) call.push.append(word(dim.limit));
  call.push.append({word(base), std::bit_cast<uint32_t>(fill), quads, static_cast<uint32_t>(rows)});
  call.input = input;
  call.output = output;
  out->add(call);
  return {};
}

}  // namespace ferry::gpu
