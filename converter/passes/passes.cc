#include "converter/passes/passes.h"

namespace ferry {

void run_passes(Graph& graph, const PassOptions& options) {
  // Twice split_linear: parts are scaled, and in files of other frameworks a bias stands before them.
  constexpr void (*kPasses[])(Graph&, const PassOptions&) = {
      fold_constants,    absorb_flatten,         absorb_pixel_shuffle,
      fold_padding,      fold_input_scale_shift, split_linear,
      merge_branches,    fold_scale_shift,       multiply_before_upscaling,
      merge_products,    split_linear,           fuse_activation,
      absorb_upsampling, join_siblings,          split_large_weight,
      absorb_transpose,
  };
  for (auto pass : kPasses) {
    pass(graph, options);
    remove_dead_code(graph, options);  // what nobody reads must not look like a reader to the next pass
  }
}

}  // namespace ferry
