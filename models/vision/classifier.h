// Input and output of image classifiers.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry {

// Float32 N,H,W,in_chans.
inline Tensor image_input(Graph& graph, const ImageOptions& options) {
  return graph.add_input(options.input_name, {1, options.height, options.width, options.in_chans}, fbs::Layout::NCHW);
}

// Throws Error if the number of classes is not the expected one.
inline void check_classes(int found, const Weights& w, const ImageOptions& options) {
  if (found != options.num_classes.value_or(found))
    fail("classifier '%s' has %d classes, expected %d: use --num-classes %d if the checkpoint is right",
         w.name().c_str(), found, *options.num_classes, found);
}

// Adds the output: "logits" of the linear layer `w`; or with num_classes 0, "pooled" itself (`w` is an Identity).
inline void classify(Tensor pooled, const Weights& w, const ImageOptions& options) {
  Graph& graph = w.graph();
  graph.add_tap("pooled", pooled, fbs::Layout::Same, kBlock);
  if (options.num_classes == 0) {
    w.discard();
    graph.add_tap("logits", tap(pooled, w), fbs::Layout::Same, kBlock);
    graph.add_output("pooled", pooled, fbs::Layout::Same);
    return;
  }
  const Tensor logits = linear(pooled, w);
  check_classes(channels(logits), w, options);
  graph.add_output("logits", logits, fbs::Layout::Same);
}

// transformers' models without a classifier also output the last feature map or tokens.
inline void add_last_hidden_state(Tensor x, fbs::Layout layout, const ImageOptions& options) {
  if (options.num_classes == 0 && options.variant.framework == "transformers")
    x.graph->add_output("last_hidden_state", x, layout);
}

}  // namespace ferry
