#include "models/vision/rrdn/rrdn.h"

#include "models/vision/image_to_image.h"

namespace ferry::rrdn {
namespace {

constexpr int kScales[] = {2, 3, 4, 8};
constexpr int kBlocks = 10;
constexpr int kDenseBlocks = 3;   // per residual block
constexpr int kConvolutions = 4;  // per dense block, before the fusing convolution
constexpr int kFeatures = 64;
constexpr int kGrowth = 32;

// As in models/vision/rrdbnet/rrdbnet.cc; the receptive field is 154.
constexpr int kHalo = 16;

std::string architecture(int scale) { return "esrgan_thick_x" + std::to_string(scale); }

int scale_of(const std::string& name) {
  for (int scale : kScales)
    if (name == architecture(scale)) return scale;
  fail("'%s' is not a variant of the residual in residual dense network", name.c_str());
}

Tensor convolve(Tensor x, const Weights& w, int out) { return conv2d(x, w, {.out = out, .kernel = 3, .padding = 1}); }

Tensor dense_block(Tensor x, const Weights& w, const std::string& block) {
  Tensor maps = x;
  for (int c = 1; c <= kConvolutions; ++c) {
    const std::string i = block + "_" + std::to_string(c), name = "F_" + i;
    const Tensor y = tap(relu(convolve(maps, w[name], kGrowth)), w[name + "_Relu"]);
    maps = tap(concat({maps, y}), w["RDB_Concat_" + i]);
  }
  return tap(convolve(maps, w["LFF_" + block], kFeatures) * 0.2 + x, w["LRL_" + block]);
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    for (int scale : kScales)
      list.push_back(image_to_image_variant(architecture(scale), "", "keras",
                                            "@upscalerjs/esrgan-thick/models/x" + std::to_string(scale)));
    return list;
  }();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {{.framework = "keras",
                                  .probes = {"Pre_blocks_conv/kernel", "LFF_10_3/kernel", "SR/kernel"},
                                  .layout = WeightLayout::Keras,
                                  .input = "LR_input"}};
  return table;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const int scale = scale_of(options.variant.architecture);
  const Tensor input = image_to_image_input(graph, options, fbs::Layout::Same, {.upscale = scale, .halo = kHalo});
  const Tensor shallow = convolve(input, w["Pre_blocks_conv"], kFeatures);
  Tensor x = shallow;
  for (int t = 1; t <= kBlocks; ++t) {
    const std::string block = std::to_string(t);
    Tensor y = x;
    for (int d = 1; d <= kDenseBlocks; ++d) y = dense_block(y, w, block + "_" + std::to_string(d));
    x = tap(y * 0.2 + x, w["RRDB_" + block + "_out"], kBlock);
  }
  x = tap(convolve(x, w["post_blocks_conv"], kFeatures) + shallow, w["GRL"], kBlock);
  x = convolve(x, w["PreShuffle"], 3 * scale * scale);
  x = tap(depth_to_space(x, scale), w["pixel_shuffle"]);
  graph.add_output("SR", convolve(x, w["SR"], 3), fbs::Layout::Same);
}

}  // namespace ferry::rrdn
