#include "models/vision/rdn/rdn.h"

#include "models/vision/image_to_image.h"

namespace ferry::rdn {
namespace {

constexpr int kScales[] = {2, 3, 4, 8};
constexpr int kBlocks = 2;
constexpr int kFeatures = 64;
constexpr int kGrowth = 4;

// The receptive field grows with every convolution on the longest path: F_m1, F_0, F_1_1, F_2_1, GFF_2, UPN1 (5x5),
// UPN2, UPN3. SR, after the upsampling, adds one output pixel, which is less than an input pixel.
constexpr int kHalo = 1 + 1 + kBlocks + 1 + 2 + 1 + 1 + 1;

std::string architecture(int scale) { return "esrgan_slim_x" + std::to_string(scale); }

int scale_of(const std::string& name) {
  for (int scale : kScales)
    if (name == architecture(scale)) return scale;
  fail("'%s' is not a variant of the residual dense network", name.c_str());
}

Tensor conv_relu(Tensor x, const Weights& w, const std::string& name, const Conv2dOptions& options) {
  return tap(relu(conv2d(x, w[name], options)), w[name + "_Relu"]);
}

Tensor dense_block(Tensor x, const Weights& w, const std::string& i) {
  Tensor y = conv_relu(x, w, "F_" + i + "_1", {.out = kGrowth, .kernel = 3, .padding = 1});
  y = tap(concat({x, y}), w["RDB_Concat_" + i + "_1"]);
  y = conv2d(y, w["LFF_" + i], {.out = kFeatures, .kernel = 1});
  return tap(y + x, w["LRL_" + i], kBlock);
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    for (int scale : kScales)
      list.push_back(image_to_image_variant(architecture(scale), "", "keras",
                                            "@upscalerjs/esrgan-slim/models/x" + std::to_string(scale)));
    return list;
  }();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {{.framework = "keras",
                                  .probes = {"F_m1/kernel", "LFF_2/kernel", "SR/kernel"},
                                  .layout = WeightLayout::Keras,
                                  .input = "LR"}};
  return table;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const int scale = scale_of(options.variant.architecture);
  // Trained on levels 0..255 of input and output.
  const Tensor input =
      image_to_image_input(graph, options, fbs::Layout::Same, {.upscale = scale, .halo = kHalo, .levels = 255});
  const Tensor shallow = conv2d(input, w["F_m1"], {.out = kFeatures, .kernel = 3, .padding = 1});
  Tensor x = conv2d(shallow, w["F_0"], {.out = kFeatures, .kernel = 3, .padding = 1});
  std::vector<Tensor> blocks;
  for (int i = 1; i <= kBlocks; ++i) blocks.push_back(x = dense_block(x, w, std::to_string(i)));
  x = tap(concat(blocks), w["LRLs_Concat"]);
  x = conv2d(x, w["GFF_1"], {.out = kFeatures, .kernel = 1});
  x = conv2d(x, w["GFF_2"], {.out = kFeatures, .kernel = 3, .padding = 1});
  x = tap(x + shallow, w["FDF"], kBlock);
  x = conv_relu(x, w, "UPN1", {.out = 64, .kernel = 5, .padding = 2});
  x = conv_relu(x, w, "UPN2", {.out = 32, .kernel = 3, .padding = 1});
  x = conv2d(x, w["UPN3"], {.out = 3 * scale * scale, .kernel = 3, .padding = 1});
  x = tap(resize(x, fbs::ResizeKind::Nearest, scale), w["UPsample"]);
  x = conv2d(x, w["SR"], {.out = 3, .kernel = 3, .padding = 1});
  graph.add_output("SR", x, fbs::Layout::Same);
}

}  // namespace ferry::rdn
