#include "models/vision/rrdbnet/rrdbnet.h"

#include "models/vision/image_to_image.h"

namespace ferry::rrdbnet {
namespace {

struct Sizes {
  int blocks, features, growth;
  int doublings;  // of the map after the blocks
  int unshuffle;  // pixel-unshuffle factor of the input

  bool operator==(const Sizes&) const = default;
};

struct Published {
  const char* architecture;
  const char* tag;
  const char* framework;
  Sizes sizes;
};

// Real-ESRGAN v0.1.0, v0.2.1 and v0.2.2.4; ESRGAN's models/README.
constexpr Published kPublished[] = {
    {"realesrgan_x4plus", "", "basicsr", {23, 64, 32, 2, 1}},
    {"realesrgan_x2plus", "", "basicsr", {23, 64, 32, 2, 2}},
    {"realesrgan_x4plus_anime_6b", "", "basicsr", {6, 64, 32, 2, 1}},
    {"esrgan_x4", "", "esrgan", {23, 64, 32, 2, 1}},
    {"esrgan_x4", "psnr", "esrgan", {23, 64, 32, 2, 1}},
};
// A network of any other size: the same training code produced many.
constexpr char kAnySizes[] = "rrdbnet";

constexpr int kConvolutions = 5;  // per dense block
constexpr int kDenseBlocks = 3;   // per residual block
constexpr int kMaxDoublings = 4;

// Halo of a tile, in cells. The receptive field is hundreds of cells, but residual scaling damps its border: in trained
// networks, no cell beyond these changes a level of 255 (docs/status.md). The authors' code uses 10 pixels.
constexpr int kHalo = 16;

// Whether the checkpoint has weight or bias. If only one exists, reading the other reports its name.
bool has_convolution(const Weights& w) { return w.has("weight") || w.has("bias"); }

// Index in ESRGAN's module list of the i-th convolution after an upsampling, i from 1.
int index_of_upsampling(int i) { return 3 * i; }

Weights doubling(const Weights& w, int i) { return w["conv_up" + std::to_string(i)][index_of_upsampling(i)]; }

// Pixel-unshuffle factor that the input channels of the first convolution imply.
int unshuffle_of(const Weights& conv_first, int in) {
  for (int factor : {1, 2, 4})
    if (in == 3 * factor * factor) return factor;
  fail("'%s.weight' takes %d channels, expected those of 1, 4 or 16 pixels of 3 channels each",
       conv_first.name().c_str(), in);
}

Sizes sizes_of(const Weights& w) {
  Sizes sizes{};
  const auto shape_of = [](const Weights& conv) {
    const Shape shape = conv.stored_shape("weight");
    if (shape.rank == 0) conv.kernel({});  // throws
    if (shape.rank != 4) fail("'%s.weight' has %d dimensions, expected 4", conv.name().c_str(), shape.rank);
    return shape;
  };
  const Shape first = shape_of(w["conv_first"]);
  sizes.features = first[0];
  sizes.unshuffle = unshuffle_of(w["conv_first"], first[1]);
  sizes.growth = shape_of(w["body"][0]["rdb1"]["conv1"])[0];
  while (has_convolution(w["body"][sizes.blocks]["rdb1"]["conv1"])) ++sizes.blocks;
  while (sizes.doublings < kMaxDoublings && has_convolution(doubling(w, sizes.doublings + 1))) ++sizes.doublings;
  return sizes;
}

std::string in_words(const Sizes& s) {
  return std::to_string(s.blocks) + " blocks, " + std::to_string(s.features) + " features, growth of " +
         std::to_string(s.growth) + ", " + std::to_string(s.doublings) + " doublings after cells of " +
         std::to_string(s.unshuffle) + "x" + std::to_string(s.unshuffle) + " pixels";
}

// A published architecture requires its own sizes; other networks have the generic name.
void check_variant(const Sizes& sizes, const Weights& w, const ImageVariant& variant) {
  for (const Published& row : kPublished) {
    if (variant.architecture == row.architecture && sizes != row.sizes)
      fail("the checkpoint has %s, %s has %s: --model %s takes any sizes", in_words(sizes).c_str(), row.architecture,
           in_words(row.sizes).c_str(), kAnySizes);
    if (w.trying() && variant.architecture == kAnySizes && variant.framework == row.framework && sizes == row.sizes)
      fail("the checkpoint has the sizes of %s", row.architecture);
  }
}

Tensor convolve(Tensor x, const Weights& w, int out) { return conv2d(x, w, {.out = out, .kernel = 3, .padding = 1}); }

Tensor activate(Tensor x, const Weights& w) { return tap(leaky_relu(x, 0.2f), w); }

// pixel_unshuffle followed by the first convolution, computed on the pixels themselves: the kernel and the stride are
// `factor` times larger.
Tensor convolve_cells(Tensor x, const Weights& w, int out, int factor) {
  if (factor == 1) return convolve(x, w, out);
  const int kernel = 3 * factor, cell = factor * factor;
  const Tensor stored = w.kernel({out, 3, 3, 3 * cell});
  const std::vector<double> from = w.graph().values(stored.id);
  const Shape shape{out, kernel, kernel, 3};
  std::vector<double> to(from.size());
  auto at = from.begin();
  for (int o = 0; o < out; ++o)
    for (int ky = 0; ky < 3; ++ky)
      for (int kx = 0; kx < 3; ++kx)
        for (int c = 0; c < 3; ++c)
          for (int i = 0; i < factor; ++i)
            for (int j = 0; j < factor; ++j) {
              const int row = ky * factor + i, column = kx * factor + j;
              to[static_cast<size_t>(((o * kernel + row) * kernel + column) * 3 + c)] = *at++;
            }
  fbs::Conv2dT params;
  params.stride_h = params.stride_w = factor;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = factor;
  const Tensor weight = w.graph().add_constant(w.name() + ".weight", shape, std::move(to));
  return tap(w.graph().add_op(w.name(), params, {x, weight, w("bias", {out})}), w);
}

Tensor dense_block(Tensor x, const Weights& w, const Sizes& sizes) {
  std::vector<Tensor> maps = {x};
  for (int i = 1; i < kConvolutions; ++i) {
    const std::string n = std::to_string(i);
    maps.push_back(activate(convolve(concat(maps), w["conv" + n], sizes.growth), w["act" + n]));
  }
  const Tensor y = tap(convolve(concat(maps), w["conv5"], sizes.features), w["sum"]);
  return tap(y * 0.2 + x, w);
}

Tensor residual_block(Tensor x, const Weights& w, const Sizes& sizes) {
  Tensor y = x;
  for (int i = 1; i <= kDenseBlocks; ++i) y = dense_block(y, w["rdb" + std::to_string(i)], sizes);
  return tap(y * 0.2 + x, w, kBlock);
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    for (const Published& row : kPublished)
      list.push_back(image_to_image_variant(row.architecture, row.tag, row.framework, ""));
    for (const char* framework : {"basicsr", "esrgan"})
      list.push_back(image_to_image_variant(kAnySizes, "", framework, ""));
    return list;
  }();
  return all;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Sizes sizes = sizes_of(w);
  check_variant(sizes, w, options.variant);
  const int scale = 1 << sizes.doublings;
  if (scale < sizes.unshuffle)
    fail("a network of %s outputs a smaller image: expected the same size or upscaling", in_words(sizes).c_str());
  const Tensor input = image_to_image_input(
      graph, options, fbs::Layout::NCHW,
      {.upscale = scale / sizes.unshuffle, .halo = kHalo * sizes.unshuffle, .multiple_of = sizes.unshuffle});
  const Tensor shallow = convolve_cells(input, w["conv_first"], sizes.features, sizes.unshuffle);
  Tensor x = shallow;
  for (int i = 0; i < sizes.blocks; ++i) x = residual_block(x, w["body"][i], sizes);
  x = convolve(tap(x, w["body"]), w["conv_body"][sizes.blocks], sizes.features);
  x = tap(x + shallow, w["trunk"]);
  int index = 0;
  for (int i = 1; i <= sizes.doublings; ++i) {
    index = index_of_upsampling(i);
    x = tap(resize(x, fbs::ResizeKind::Nearest, 2), w["upscaled"][index]);
    x = activate(convolve(x, doubling(w, i), sizes.features), w["act"][index]);
  }
  index += 2;
  x = activate(convolve(x, w["conv_hr"][index], sizes.features), w["act"][index]);
  graph.add_output("output", convolve(x, w["conv_last"][index + 2], 3), fbs::Layout::NCHW);
}

}  // namespace ferry::rrdbnet
