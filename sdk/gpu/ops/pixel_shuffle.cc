#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"

namespace ferry::gpu {

// [N,H,W,r*r*C] to [N,H,r,W,r,C]: a transpose.
Status lower_pixel_shuffle(const Problem& problem, int, Lowering* out) {
  const int32_t r = problem.op.params_as_PixelShuffle()->factor();
  const Shape& in = problem.inputs[0];
  const int32_t channels = problem.output[3];
  return add_strided_copy({{.size = in[0], .stride = stored_stride(in, 0)},
                           {.size = in[1], .stride = stored_stride(in, 1)},
                           {.size = r, .stride = int64_t{r} * channels},
                           {.size = in[2], .stride = stored_stride(in, 2)},
                           {.size = r, .stride = channels},
                           {.size = channels, .stride = 1}},
                          0, 0, out);
}

}  // namespace ferry::gpu
