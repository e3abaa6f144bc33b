#include "models/blocks/patch_embed.h"

namespace ferry {

Tensor patch_map(Tensor x, const Weights& w, const PatchEmbedOptions& o) {
  const Shape in = x.shape();
  if (in[1] % o.patch != 0 || in[2] % o.patch != 0)
    fail("--input-size %dx%d: both sides must be multiples of the patch's, %d", in[1], in[2], o.patch);
  return conv2d(x, w["proj"],
                {.out = o.out, .kernel = o.patch, .stride = o.patch, .bias = o.bias, .adapt_input = true});
}

Tensor to_tokens(Tensor map) { return reshape(map, {0, -1, channels(map)}); }

Tensor to_map(Tensor tokens, Grid grid) { return reshape(tokens, {0, grid.height, grid.width, channels(tokens)}); }

Tensor to_map(Tensor tokens, Tensor like) {
  return reshape_like(tokens, like, {0, as_large_as(1), as_large_as(2), -1});
}

}  // namespace ferry
