// conv_transpose2d: every output gathers the inputs that contribute to it.
#include "sdk/gpu/lowering/convolution.h"
#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

// In order of preference, followed by the kernel for any groups.
constexpr RegisterTile kTransposedTiles[] = {{4, 2}, {4, 1}, {1, 1}, {2, 2}};
static_assert(kConvTranspose2dAlternatives == 2 + std::size(kTransposedTiles));

Status lower_one(const Problem& problem, const Convolution& convolution, size_t which, uint64_t minimum,
                 Lowering* out) {
  return which < std::size(kTransposedTiles) ? lower_direct(problem, convolution, kTransposedTiles[which], minimum, out)
                                             : lower_grouped(problem, convolution, out);
}

}  // namespace

// Alternative 0: the first that fits and has enough invocations. Others: as listed.
Status lower_conv_transpose2d(const Problem& problem, int alternative, Lowering* out) {
  if (problem.is_constant[0]) return unsupported("conv_transpose2d: a constant input");
  Convolution convolution = convolution_of(problem, *problem.op.params_as_ConvTranspose2d());
  convolution.transposed = true;
  if (alternative > 0) return lower_one(problem, convolution, static_cast<size_t>(alternative) - 1, 0, out);
  Status status;
  for (size_t i = 0; i <= std::size(kTransposedTiles); ++i) {
    status = lower_one(problem, convolution, i, kEnoughInvocations, out);
    if (status.ok()) break;
  }
  return status;
}

}  // namespace ferry::gpu
