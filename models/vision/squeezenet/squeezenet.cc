#include "models/vision/squeezenet/squeezenet.h"

#include "models/vision/classifier.h"
#include "models/vision/published.h"

namespace ferry::squeezenet {
namespace {

Tensor fire(Tensor x, const Weights& w, int squeeze, int expand) {
  x = tap(relu(conv2d(x, w["squeeze"], {.out = squeeze, .kernel = 1})), w["squeeze_activation"]);
  const Tensor narrow = relu(conv2d(x, w["expand1x1"], {.out = expand, .kernel = 1}));
  const Tensor wide = relu(conv2d(x, w["expand3x3"], {.out = expand, .kernel = 3, .padding = 1}));
  return tap(concat({tap(narrow, w["expand1x1_activation"]), tap(wide, w["expand3x3_activation"])}), w, kBlock);
}

Tensor pool(Tensor x, const Weights& w) {
  return tap(max_pool2d(x, {.kernel = 3, .stride = 2, .ceil_mode = true}), w, kBlock);
}

Tensor features_1_0(Tensor x, const Weights& w) {
  x = conv2d(x, w[0], {.out = 96, .kernel = 7, .stride = 2, .adapt_input = true});
  x = pool(tap(relu(x), w[1]), w[2]);
  x = fire(x, w[3], 16, 64);
  x = fire(x, w[4], 16, 64);
  x = fire(x, w[5], 32, 128);
  x = pool(x, w[6]);
  x = fire(x, w[7], 32, 128);
  x = fire(x, w[8], 48, 192);
  x = fire(x, w[9], 48, 192);
  x = fire(x, w[10], 64, 256);
  x = pool(x, w[11]);
  return fire(x, w[12], 64, 256);
}

Tensor features_1_1(Tensor x, const Weights& w) {
  x = conv2d(x, w[0], {.out = 64, .kernel = 3, .stride = 2, .adapt_input = true});
  x = pool(tap(relu(x), w[1]), w[2]);
  x = fire(x, w[3], 16, 64);
  x = fire(x, w[4], 16, 64);
  x = pool(x, w[5]);
  x = fire(x, w[6], 32, 128);
  x = fire(x, w[7], 32, 128);
  x = pool(x, w[8]);
  x = fire(x, w[9], 48, 192);
  x = fire(x, w[10], 48, 192);
  x = fire(x, w[11], 64, 256);
  return fire(x, w[12], 64, 256);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  Tensor x = image_input(graph, options);
  x = options.variant.architecture == "squeezenet1_0" ? features_1_0(x, w["features"]) : features_1_1(x, w["features"]);
  tap(x, w["features"], kBlock);
  const Weights classifier = w["classifier"];
  if (options.num_classes == 0) {
    classifier.discard();
    graph.add_output("pooled", flatten(global_avg_pool(x)), fbs::Layout::Same);
    return;
  }
  x = tap(relu(conv2d(x, classifier[1], {.kernel = 1})), classifier[2]);
  check_classes(channels(x), classifier[1], options);
  x = flatten(tap(tap(global_avg_pool(x), classifier[3]), classifier));
  graph.add_output("logits", x, fbs::Layout::Same);
}

std::span<const Naming> namings() {
  static const Naming table[] = {
      {.framework = "torchvision", .probes = {"features.3.squeeze.weight", "features.12.expand3x3.weight"}}};
  return table;
}

std::span<const ImageVariant> variants() {
  static const ImageVariant table[] = {torchvision("squeezenet1_0", "v1"), torchvision("squeezenet1_1", "v1")};
  return table;
}

}  // namespace ferry::squeezenet
