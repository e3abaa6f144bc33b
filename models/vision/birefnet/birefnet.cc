#include "models/vision/birefnet/birefnet.h"

#include "models/vision/image_to_image.h"

namespace ferry::birefnet {
namespace {

// The authors' repositories on the hub, and the image side of each training.
struct Published {
  const char *architecture, *tag, *hub;
  int height = 1024, width = 1024;
};

constexpr char kLarge[] = "birefnet", kLite[] = "birefnet_lite";
constexpr Published kPublished[] = {
    {kLarge, "", "BiRefNet"},
    {kLarge, "portrait", "BiRefNet-portrait"},
    {kLarge, "matting", "BiRefNet-matting"},
    {kLarge, "dynamic", "BiRefNet_dynamic"},
    {kLarge, "dynamic_matting", "BiRefNet_dynamic-matting"},
    {kLarge, "hr", "BiRefNet_HR", 2048, 2048},
    {kLarge, "hr_matting", "BiRefNet_HR-matting", 2048, 2048},
    {kLarge, "512", "BiRefNet_512x512", 512, 512},
    {kLarge, "dis5k", "BiRefNet-DIS5K"},
    {kLarge, "hrsod", "BiRefNet-HRSOD"},
    {kLarge, "cod", "BiRefNet-COD"},
    {kLite, "", "BiRefNet_lite"},
    {kLite, "matting", "BiRefNet_lite-matting"},
    {kLite, "2k", "BiRefNet_lite-2K", 1440, 2560},
};

// The lite network has Swin-T; the others have Swin-L, named by their training data.
constexpr int kLiteWidth = 96;
const std::vector<int> kLiteDepths = {2, 2, 6, 2};

constexpr int kColours = 3;
constexpr int kMinSide = 8 * Backbone::kPatch;  // smallest image: one position of the last feature map

std::string list(const std::vector<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
  return out;
}

void check(const Backbone& backbone, const Weights& w, const ImageOptions& options) {
  const std::string name = options.variant.name();
  const bool lite = backbone.width == kLiteWidth && backbone.depths() == kLiteDepths;
  if (w.trying() && lite && options.variant.architecture != kLite) fail("the checkpoint has the sizes of %s", kLite);
  if (!lite && options.variant.architecture == kLite)
    fail("the checkpoint's backbone is %d wide with %s blocks, that of %s %d with %s: --model %s takes any",
         backbone.width, list(backbone.depths()).c_str(), name.c_str(), kLiteWidth, list(kLiteDepths).c_str(), kLarge);
  if (options.height % kMinSide != 0 || options.width % kMinSide != 0)
    fail("input size %dx%d: both sides must be multiples of %d", options.height, options.width, kMinSide);
  if (options.in_chans != kColours)
    fail("%s takes images of %d channels, not %d", name.c_str(), kColours, options.in_chans);
  if (options.num_classes.value_or(0) > 0) fail("%s has no classes, so --num-classes does not apply", name.c_str());
}

Tensor resize_as(Tensor x, Tensor other) {
  const Shape to = other.shape();
  return resize_to(x, fbs::ResizeKind::Bilinear, to[1], to[2], /*align_corners=*/true);
}

// Per stage, the feature map of the image concatenated with that of the image at half the size.
std::vector<Tensor> encode(Tensor image, const Weights& bb, const Backbone& backbone) {
  const Shape size = image.shape();
  const Tensor half = resize_to(image, fbs::ResizeKind::Bilinear, size[1] / 2, size[2] / 2, /*align_corners=*/true);
  std::vector<Tensor> maps = run_backbone(image, bb, backbone);
  const std::vector<Tensor> coarse = run_backbone(half, bb.again(1), backbone);
  for (size_t s = 0; s < maps.size(); ++s) maps[s] = concat({maps[s], resize_as(coarse[s], maps[s])});
  return maps;
}

// Squeeze module: the last feature map, concatenated with the others resized to it, through the decoder blocks.
Tensor squeeze(const std::vector<Tensor>& maps, const Weights& w) {
  std::vector<Tensor> parts;
  for (const Tensor& map : maps) parts.push_back(map.id == maps.back().id ? map : resize_as(map, maps.back()));
  Tensor x = concat(parts);
  int i = 0;
  do x = decoder_block(x, w[i], channels(maps.back()));
  while (w[++i]["conv_in"].has("weight"));
  return tap(x, w);
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> list;
    for (const Published& row : kPublished) {
      ImageVariant variant =
          image_to_image_variant(row.architecture, row.tag, "birefnet", std::string("ZhengPeng7/") + row.hub);
      variant.height = row.height;
      variant.width = row.width;
      variant.image = {.filter = fbs::Filter::Bilinear, .crop_pct = 1, .crop_mode = CropMode::Squash};
      list.push_back(variant);
    }
    return list;
  }();
  return all;
}

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Backbone backbone = stored_backbone(w["bb"]);
  check(backbone, w, options);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::Matting;
  const Tensor image =
      graph.add_input(options.input_name, {1, options.height, options.width, kColours}, fbs::Layout::NCHW);
  std::vector<Tensor> maps = encode(image, w["bb"], backbone);
  maps.back() = squeeze(maps, w["squeeze_module"]);
  graph.add_output("output", decode(image, maps, w["decoder"]), fbs::Layout::NCHW);
}

}  // namespace ferry::birefnet
