#include "models/vision/migan/migan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/vision/image_to_image.h"

namespace ferry::migan {
namespace {

struct Published {
  const char* architecture;
  const char* tag;
  int side;
};

// The authors' generators for mobile devices, trained on Places2, on FFHQ (faces), and on Places2.
constexpr Published kPublished[] = {{"migan_256", "", 256}, {"migan_256", "ffhq", 256}, {"migan_512", "", 512}};
// A network with any other image side.
constexpr char kAnySide[] = "migan";

constexpr int kMinMapSide = 4;  // side of the encoder's last feature map
constexpr int kMaxSide = 4096;  // maximum side of an image
constexpr int kColours = 3;
constexpr int kInputs = 1 + kColours;
constexpr int kFilter = 4;  // side of the filters of down- and upsampling

// The activation: leaky ReLU with this slope, times the gain, clamped.
constexpr double kSlope = 0.2, kLimit = 256;
const double kGain = std::sqrt(2.0);

// The image side, from the name of the encoder's first block; 0: there is none.
int side_of(const Weights& w) {
  for (int side = 2 * kMinMapSide; side <= kMaxSide; side *= 2) {
    const Weights begin = w["encoder"]["b" + std::to_string(side)]["fromrgb"];
    if (begin.has("weight") || begin.has("bias")) return side;
  }
  return 0;
}

void check_variant(int side, const Weights& w, const ImageOptions& options) {
  const ImageVariant& variant = options.variant;
  if (side == 0) fail("the checkpoint has no 'encoder.bN.fromrgb.weight', where N is the image side");
  if (variant.architecture != kAnySide && variant.height != side)
    fail("the checkpoint is for images of %dx%d, %s is for %dx%d: --model %s takes any", side, side,
         variant.name().c_str(), variant.height, variant.width, kAnySide);
  for (const Published& row : kPublished)
    if (w.trying() && variant.architecture == kAnySide && side == row.side)
      fail("the checkpoint has the sizes of %s", row.architecture);
  if (!w.trying() && (options.height != side || options.width != side))
    fail("the checkpoint supports images of %dx%d only, not %dx%d", side, side, options.height, options.width);
  if (options.in_chans != kInputs)
    fail("%s takes %d channels (mask and RGB), not %d", variant.name().c_str(), kInputs, options.in_chans);
  if (options.num_classes.value_or(0) > 0)
    fail("%s has no classes, so --num-classes does not apply", variant.name().c_str());
}

// x has been multiplied by the gain. The clamp comes before leaky ReLU, so that the passes fuse it into the
// convolution.
Tensor activate(Tensor x) {
  x = clamp(x, static_cast<float>(-kLimit / kSlope), static_cast<float>(kLimit));
  return leaky_relu(x, static_cast<float>(kSlope));
}

// A stored noise map times its learned strength, times the gain.
Tensor noise(const Weights& w, int side) {
  Graph& graph = w.graph();
  const Tensor strength = w("noise_strength");
  if (strength.shape().elements() != 1)
    fail("'%s.noise_strength' has shape %s, expected a scalar", w.name().c_str(), to_string(strength.shape()).c_str());
  const double factor = graph.values(strength.id).front() * kGain;
  std::vector<double> values = graph.values(w("noise_const", {side, side}).id);
  for (double& value : values) value *= factor;
  return graph.add_constant(w.name() + ".noise", Shape{1, side, side, 1}, std::move(values));
}

Tensor filter(const Weights& w, int channels) { return w["filter"].kernel({channels, kFilter, kFilter, 1}); }

Tensor halve(Tensor x, const Weights& w) {
  fbs::Conv2dT params;
  params.stride_h = params.stride_w = 2;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  params.groups = channels(x);
  return tap(x.graph->add_op("", params, {x, filter(w, channels(x))}), w);
}

// Upsampling inserts zeros, then applies a 4 x 4 filter. Repeating pixels equals inserting zeros and adding up 2 x 2
// neighbours. So if a 3 x 3 filter convolved with 2 x 2 ones is the 4 x 4 filter, applying it to repeated pixels gives
// the same result, edges included. That holds for the authors' [1 3 3 1] in both directions. Returns false if it does
// not hold.
bool find_smaller(std::span<const double> large, std::span<double> small) {
  constexpr int kSmall = kFilter - 1;
  const auto cell = [&](int y, int x) {
    return y >= 0 && x >= 0 && y < kSmall && x < kSmall ? small[static_cast<size_t>(y * kSmall + x)] : 0.0;
  };
  double largest = 0, error = 0;
  for (int y = 0; y < kFilter; ++y)
    for (int x = 0; x < kFilter; ++x) {
      const double value = large[static_cast<size_t>(y * kFilter + x)];
      const double rest = value - cell(y - 1, x) - cell(y, x - 1) - cell(y - 1, x - 1);
      largest = std::max(largest, std::fabs(value));
      if (y < kSmall && x < kSmall)
        small[static_cast<size_t>(y * kSmall + x)] = rest;
      else
        error = std::max(error, std::fabs(rest));
    }
  return error <= 1e-7 * largest;  // float32 rounding
}

// Doubles height and width: zero insertion, then a depthwise filter with padding of 2 before and 1 behind.
Tensor upscale(Tensor x, const Weights& w) {
  Graph& graph = w.graph();
  const int count = channels(x), side = 2 * x.shape()[1];
  const std::vector<double> grid = graph.values(w("filter_const", {1, 1, side, side}).id);
  for (size_t i = 0; i < grid.size() && !w.trying(); ++i) {
    const size_t row = i / static_cast<size_t>(side), column = i % static_cast<size_t>(side);
    if (grid[i] != (row % 2 == 0 && column % 2 == 0 ? 1 : 0))
      fail("'%s.filter_const' is %g at row %zu, column %zu: expected 1 where both are even, else 0", w.name().c_str(),
           grid[i], row, column);
  }
  const Tensor stored = filter(w, count);
  const std::string name = graph.at(stored.id).name;
  const std::vector<double> large = graph.values(stored.id);
  constexpr size_t kLarge = kFilter * kFilter, kSmall = (kFilter - 1) * (kFilter - 1);
  const size_t filters = static_cast<size_t>(count);
  std::vector<double> small(filters * kSmall);
  bool smaller = true;
  for (size_t c = 0; c < filters && smaller; ++c)
    smaller = find_smaller(std::span(large).subspan(c * kLarge, kLarge), std::span(small).subspan(c * kSmall, kSmall));
  if (smaller) {
    fbs::Conv2dT params;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
    params.groups = count;
    const Tensor weight = graph.add_constant(name, Shape{count, kFilter - 1, kFilter - 1, 1}, std::move(small));
    return tap(graph.add_op("", params, {resize(x, fbs::ResizeKind::Nearest, 2), weight}), w);
  }
  fbs::ConvTranspose2dT params;
  params.stride_h = params.stride_w = 2;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  params.groups = count;
  std::vector<double> flipped(large.size());
  for (size_t i = 0; i < large.size(); ++i) flipped[i] = large[i / kLarge * kLarge + (kLarge - 1 - i % kLarge)];
  return tap(graph.add_op("", params, {x, graph.add_constant(name, stored.shape(), std::move(flipped))}), w);
}

struct Separable {
  int out = 0;  // channels; 0: taken from the weight
  bool halve = false, upscale = false, noise = false;
};

Tensor separable(Tensor x, const Weights& w, const Separable& options) {
  const int in = channels(x);
  x = activate(conv2d(x, w["conv1"], {.out = in, .kernel = 3, .padding = 1, .groups = in}) * kGain);
  if (options.halve) x = halve(x, w["downsample"]);
  x = conv2d(x, w["conv2"], {.out = options.out, .kernel = 1, .bias = false});
  if (options.upscale) x = upscale(x, w["upsample"]);
  x = x * kGain;
  if (options.noise) x = x + noise(w, x.shape()[1]);
  return tap(activate(x), w);
}

void add_processing(Graph& graph, int side) {
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  fbs::PreprocessT& before = *graph.table.preprocess;
  before.resize_mode = fbs::ResizeMode::Exact;
  before.resize_h = before.resize_w = side;
  before.filter = fbs::Filter::Bicubic;
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  fbs::PostprocessT& after = *graph.table.postprocess;
  after.task = fbs::Task::Inpainting;
  before.mean = before.std = after.mean = after.std = std::vector<float>(kColours, 0.5f);
  fbs::InpaintingT mask;
  mask.known = 0.5f;
  mask.hole = -0.5f;
  after.params.Set(std::move(mask));
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    const auto add = [&](const char* architecture, const char* tag, int side) {
      ImageVariant variant = image_to_image_variant(architecture, tag, "migan", "");
      variant.in_chans = kInputs;
      variant.height = variant.width = side;
      list.push_back(variant);
    };
    for (const Published& row : kPublished) add(row.architecture, row.tag, row.side);
    add(kAnySide, "", kPublished[0].side);
    return list;
  }();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {
      {.framework = "migan", .probes = {"encoder.b4.conv1.conv1.weight", "synthesis.b4.torgb.weight"}}};
  return table;
}

std::optional<Settings::Size> stored_size(const Weights& w, const ImageOptions&) {
  const int side = side_of(w);
  return side > 0 ? std::optional(Settings::Size{side, side}) : std::nullopt;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const int side = side_of(w);
  check_variant(side, w, options);
  add_processing(graph, side);
  const Weights encoder = w["encoder"], synthesis = w["synthesis"];
  Tensor x = graph.add_input(options.input_name, {1, side, side, kInputs}, fbs::Layout::NCHW);
  std::map<int, Tensor> seen;  // encoder features by the map's side
  for (int s = side; s >= kMinMapSide; s /= 2) {
    const Weights block = encoder["b" + std::to_string(s)];
    if (s == side) x = activate(conv2d(x, block["fromrgb"], {.kernel = 1}) * kGain);
    seen[s] = separable(x, block["conv1"], {.out = channels(x)});
    x = tap(separable(seen[s], block["conv2"], {.halve = s > kMinMapSide}), block, kBlock);
  }
  Tensor image;
  for (int s = kMinMapSide; s <= side; s *= 2) {
    const Weights block = synthesis["b" + std::to_string(s)];
    const bool larger = s > kMinMapSide;
    x = separable(x, block["conv1"], {.out = channels(seen[s]), .upscale = larger, .noise = larger});
    x = separable(x + seen[s], block["conv2"], {.out = channels(x), .noise = larger});
    tap(x, block, kBlock);
    if (larger) image = upscale(image, block["upsample"]);
    const Tensor colours = conv2d(x, block["torgb"], {.out = kColours, .kernel = 1});
    image = larger ? image + colours : colours;
  }
  graph.add_output("output", image, fbs::Layout::NCHW);
}

}  // namespace ferry::migan
