#include "models/vision/srvgg/srvgg.h"

#include "models/vision/image_to_image.h"

namespace ferry::srvgg {
namespace {

struct Config {
  const char* architecture;
  const char* tag;
  int convolutions;  // num_conv: those between the first and the last
  int upscale;
};

// Published by Real-ESRGAN (v0.2.5.0 and v0.2.3.0); x2 and x3 by its ncnn port. "wdn" is the variant for noisy input
// that the demo blends in.
constexpr Config kConfigs[] = {
    {"realesr_animevideov3", "", 16, 4}, {"realesr_animevideov3_x3", "", 16, 3}, {"realesr_animevideov3_x2", "", 16, 2},
    {"realesr_general_x4v3", "", 32, 4}, {"realesr_general_x4v3", "wdn", 32, 4},
};
constexpr int kFeatures = 64;

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("'%s' is not a variant of SRVGGNetCompact", architecture.c_str());
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    for (const Config& config : kConfigs)
      list.push_back(image_to_image_variant(config.architecture, config.tag, "basicsr", ""));
    return list;
  }();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {{.framework = "basicsr", .probes = {"body.0.weight", "body.1.weight", "body.2.bias"}}};
  return table;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const Tensor input = image_to_image_input(graph, options, fbs::Layout::NCHW,
                                            {.upscale = config.upscale, .halo = config.convolutions + 2});
  const Weights body = w["body"];
  Tensor x = input;
  for (int i = 0; i <= config.convolutions; ++i) {
    x = conv2d(x, body[2 * i], {.out = kFeatures, .kernel = 3, .padding = 1});
    x = prelu(x, body[2 * i + 1]);
    tap(x, body[2 * i + 1], kBlock);
  }
  x = conv2d(x, body[2 * config.convolutions + 2],
             {.out = 3 * config.upscale * config.upscale, .kernel = 3, .padding = 1});
  x = tap(pixel_shuffle(x, config.upscale), w["upsampler"], kBlock);
  graph.add_output("output", x + resize(input, fbs::ResizeKind::Nearest, config.upscale), fbs::Layout::NCHW);
}

}  // namespace ferry::srvgg
