#include "models/vision/resnet/resnet.h"

#include "models/vision/classifier.h"

namespace ferry::resnet {

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config config = options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
  const Tensor x = resnet_trunk(image_input(graph, options), w, config);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  const Tensor pooled = tap(global_avg_pool(x), w["global_pool.pool"], kBlock);
  classify(tap(flatten(pooled), w["global_pool"], kBlock), w["fc"], options);
  add_last_hidden_state(x, fbs::Layout::NCHW, options);
}

}  // namespace ferry::resnet
