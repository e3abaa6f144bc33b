#include "models/vision/vgg/vgg.h"

#include <algorithm>

#include "converter/error.h"
#include "models/vision/classifier.h"
#include "models/vision/published.h"

namespace ferry::vgg {
namespace {

// Convolutions per stage.
struct Config {
  const char* architecture;
  int convs[5];
};
constexpr Config kConfigs[] = {
    {"vgg11", {1, 1, 2, 2, 2}},
    {"vgg13", {2, 2, 2, 2, 2}},
    {"vgg16", {2, 2, 3, 3, 3}},
    {"vgg19", {2, 2, 4, 4, 4}},
};

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture.substr(0, architecture.find('_')) == config.architecture) return config;
  fail("no VGG is called '%s'", architecture.c_str());
}

// One Sequential of convolutions, norms, activations and pools. "feat/0" to "feat/4" are the maps before the pools.
Tensor features(Tensor x, const Weights& w, const Config& config, bool norm) {
  int at = 0;
  for (int stage = 0; stage < 5; ++stage) {
    for (int c = 0; c < config.convs[stage]; ++c) {
      const bool first = at == 0;
      x = conv2d(x, w[at++], {.out = std::min(64 << stage, 512), .kernel = 3, .padding = 1, .adapt_input = first});
      if (norm) x = batch_norm(x, w[at++]);
      x = tap(relu(x), w[at++]);
    }
    w.graph().add_tap("feat/" + std::to_string(stage), x, fbs::Layout::NCHW, kBlock);
    x = tap(max_pool2d(x, {.kernel = 2, .stride = 2}), w[at++]);
  }
  w.graph().add_tap("feat/5", x, fbs::Layout::NCHW, kBlock);
  return x;
}

// timm's fully connected layers are convolutions; on large maps their output is averaged.
Tensor convolved(Tensor x, const Weights& w) {
  const Weights layers = w["pre_logits"];
  if (std::min(x.shape()[1], x.shape()[2]) < 7)
    fail("timm's VGG takes images of at least 224x224, for a last map of 7x7: here it is %dx%d", x.shape()[1],
         x.shape()[2]);
  x = tap(relu(conv2d(x, layers["fc1"], {.out = 4096, .kernel = 7})), layers["act1"]);
  x = tap(relu(conv2d(x, layers["fc2"], {.out = 4096, .kernel = 1})), layers["act2"]);
  return tap(flatten(global_avg_pool(tap(x, layers, kBlock))), w["head"]["global_pool"], kBlock);
}

// torchvision's are linear layers; large maps are average-pooled to 7x7 first.
Tensor flattened(Tensor x, const Weights& w) {
  const Weights layers = w["pre_logits"];
  const int height = x.shape()[1], width = x.shape()[2];
  if (height != width || height % 7 != 0)
    fail(
        "torchvision's VGG averages its last map to 7x7: images must be squares with a multiple of 224 as their "
        "side, for here it is %dx%d",
        height, width);
  if (height > 7) x = avg_pool2d(x, {.kernel = height / 7, .stride = height / 7});
  x = flatten(tap(x, w["avgpool"], kBlock));
  x = tap(relu(linear(x, layers["fc1"], {.out = 4096})), layers["act1"]);
  return tap(relu(linear(x, layers["fc2"], {.out = 4096})), layers["act2"], kBlock);
}

// In timm's head, the pool's output is one tensor with its successors'; the reference runs the head for `pooled` and
// for `logits`: two records.
Naming timm_names() {
  return {.framework = "timm",
          .probes = {"features.0.weight", "pre_logits.fc1.weight", "head.fc.weight"},
          .taps = {{"pre_logits", {"pre_logits", "pre_logits#1"}},
                   {"head.global_pool",
                    {"head.global_pool", "head.global_pool#1", "head.drop", "head.drop#1", "head.flatten", "head"}},
                   {"head.fc", {"head.fc", "head.flatten#1", "head#1"}}}};
}

Naming torchvision_names() {
  return {.framework = "torchvision",
          .probes = {"features.0.weight", "classifier.0.weight", "classifier.3.weight", "classifier.6.weight"},
          .keys = {{"pre_logits.fc1", {"classifier.0"}},
                   {"pre_logits.fc2", {"classifier.3"}},
                   {"head.fc", {"classifier.6"}}},
          .taps = {{"pre_logits.act1", {"classifier.1", "classifier.2"}},
                   {"pre_logits.act2", {"classifier.4", "classifier.5"}},
                   {"head.fc", {"classifier.6", "classifier"}}}};
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const std::string& architecture = options.variant.architecture;
  Tensor x = image_input(graph, options);
  x = features(x, w["features"], config_of(architecture), architecture.ends_with("_bn"));
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  x = options.variant.framework == "torchvision" ? flattened(x, w) : convolved(x, w);
  classify(x, w["head"]["fc"], options);
}

std::span<const Naming> namings() {
  static const Naming table[] = {timm_names(), torchvision_names()};
  return table;
}

// timm uses torchvision's weights and preprocessing.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<std::string> architectures;
    for (const char* suffix : {"", "_bn"})
      for (const Config& config : kConfigs) architectures.push_back(std::string(config.architecture) + suffix);
    std::vector<ImageVariant> made;
    for (const std::string& name : architectures)
      made.push_back(timm(name, "tv_in1k", {.filter = fbs::Filter::Bilinear}));
    for (const std::string& name : architectures) made.push_back(torchvision(name, "v1"));
    return made;
  }();
  return all;
}

}  // namespace ferry::vgg
