#include "converter/passes/passes.h"

namespace ferry {

void run_passes(Graph& graph, const PassOptions& options) {
  // split_linear runs twice: parts may be scaled, and other frameworks' files may have a bias before the split.
  constexpr void (*kPasses[])(Graph&, const PassOptions&) = {
      fold_constants,    absorb_flatten,         absorb_pixel_shuffle,
      fold_padding,      fold_input_scale_shift, split_linear,
      merge_branches,    fold_scale_shift,       multiply_before_upscaling,
      merge_products,    split_linear,           fuse_activation,
      absorb_upsampling, join_siblings,          split_large_weight,
      absorb_transpose,  hoist_from_loops,
  };
  for (auto pass : kPasses) {
    pass(graph, options);
    remove_dead_code(graph, options);  // removes unused readers, which would block the next pass
  }
}

void make_channels_last(Graph& graph, const PassOptions& options) {
  sink_transposes(graph, options);
  slice_before_reshape(graph, options);
  hoist_from_loops(graph, options);
}

}  // namespace ferry
