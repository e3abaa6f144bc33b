#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/preprocessing/preprocessing.h"

namespace ferry {
namespace {

using Json = nlohmann::json;
using Mode = fbs::ResizeMode;

// The image processors whose settings mean what they say, and their defaults where a file leaves something out.
struct Processor {
  const char* name;
  bool square;       // one number as `size` is both sides, not the shorter edge
  bool center_crop;  // where do_center_crop is not said
  int resample;
};

constexpr Processor kProcessors[] = {
    {"Bit", false, true, 3},         {"CLIP", false, true, 3},        {"ConvNext", false, false, 3},
    {"DINOv3ViT", true, false, 2},   {"DPT", true, false, 3},         {"DeiT", true, true, 3},
    {"MobileNetV1", false, true, 2}, {"MobileNetV2", false, true, 2}, {"Qwen2VL", false, false, 3},
    {"Sam", false, false, 2},        {"Segformer", true, false, 2},   {"Siglip", true, false, 3},
    {"ViT", true, false, 2},
};

// The files of the first vision transformers name no processor.
const Processor& processor_of(const Json& config) {
  const std::string full = config.value("image_processor_type", config.value("feature_extractor_type", "ViT"));
  std::string name = full;
  for (const char* suffix : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor"})
    if (name.ends_with(suffix)) name.resize(name.size() - std::string_view(suffix).size());
  for (const Processor& known : kProcessors)
    if (name == known.name) return known;
  fail("%s is not an image processor known here: without this file, images are prepared as the model's table says",
       in_quotes(full).c_str());
}

fbs::Filter filter_numbered(int resample) {
  // Pillow's numbers.
  constexpr fbs::Filter kFilters[] = {fbs::Filter::Nearest, fbs::Filter::Lanczos, fbs::Filter::Bilinear,
                                      fbs::Filter::Bicubic, fbs::Filter::Box,     fbs::Filter::Hamming};
  if (resample < 0 || resample >= static_cast<int>(std::size(kFilters)))
    fail("resample is %d, expected one of Pillow's filters 0 to 5", resample);
  return kFilters[resample];
}

void set_resize(Mode mode, int height, int width, fbs::PreprocessT* preprocess) {
  preprocess->resize_mode = mode;
  preprocess->resize_h = height;
  preprocess->resize_w = width;
}

void read_size(const Json& config, const Processor& processor, fbs::PreprocessT* preprocess) {
  const Json& size = config.at("size");
  if (size.is_number()) {
    set_resize(processor.square ? Mode::Exact : Mode::ShortestEdge, size, size, preprocess);
  } else if (size.contains("height") && size.contains("width")) {
    set_resize(Mode::Exact, size["height"], size["width"], preprocess);
  } else if (size.contains("shortest_edge") && !size.contains("longest_edge")) {
    set_resize(Mode::ShortestEdge, size["shortest_edge"], size["shortest_edge"], preprocess);
  } else if (size.contains("longest_edge") && !size.contains("shortest_edge")) {
    set_resize(Mode::LongestEdge, size["longest_edge"], size["longest_edge"], preprocess);
  } else {
    fail("size is %s, expected height and width, shortest_edge, or longest_edge", size.dump().c_str());
  }
}

void read_crop(const Json& config, const Processor& processor, fbs::PreprocessT* preprocess) {
  if (!config.value("do_center_crop", processor.center_crop)) return;
  const Json& size = config.at("crop_size");
  preprocess->crop_h = size.is_number() ? size : size.at("height");
  preprocess->crop_w = size.is_number() ? size : size.at("width");
}

// (level * factor - mean) / std as the blob's (level / 255 - mean) / std.
void read_scaling(const Json& config, fbs::PreprocessT* preprocess) {
  std::vector<double> mean(3, 0.0), std(3, 1.0);
  if (config.value("do_normalize", true)) {
    mean = config.at("image_mean").get<std::vector<double>>();
    std = config.at("image_std").get<std::vector<double>>();
  }
  double white = config.value("do_rescale", true) ? 255 * config.value("rescale_factor", 1 / 255.0) : 255.0;
  if (std::fabs(white - 1) < 1e-9) white = 1;
  if (mean.size() != 3 || std.size() != 3 || !(white > 0))
    fail(
        "%zu means, %zu deviations and a rescale_factor of %g: expected one of each for red, green and blue, and more "
        "than 0",
        mean.size(), std.size(), white / 255);
  for (size_t c = 0; c < 3; ++c) {
    preprocess->mean.push_back(static_cast<float>(mean[c] / white));
    preprocess->std.push_back(static_cast<float>(std[c] / white));
  }
}

// Below 384 pixels ConvNeXt cuts the centre out of a larger image; from 384 on it squashes.
void convnext_size(const Json& config, fbs::PreprocessT* preprocess) {
  const int edge = preprocess->resize_h;
  if (edge >= 384) return set_resize(Mode::Exact, edge, edge, preprocess);
  const int larger = static_cast<int>(edge / config.value("crop_pct", 224.0 / 256));
  set_resize(Mode::ShortestEdge, larger, larger, preprocess);
  preprocess->crop_h = preprocess->crop_w = edge;
}

void dpt_size(const Json& config, fbs::PreprocessT* preprocess) {
  const int multiple = config.value("ensure_multiple_of", 1);
  if (multiple < 1) fail("ensure_multiple_of is %d, expected 1 or more", multiple);
  if (config.value("keep_aspect_ratio", false)) {
    preprocess->resize_mode = Mode::LeastScaling;
    preprocess->multiple_of = multiple;
    return;
  }
  const auto to_multiple = [multiple](int side) {
    return static_cast<int>(std::nearbyint(static_cast<double>(side) / multiple)) * multiple;
  };
  set_resize(Mode::Exact, to_multiple(preprocess->resize_h), to_multiple(preprocess->resize_w), preprocess);
}

void qwen_patches(const Json& config, fbs::PreprocessT* preprocess) {
  const Json size = config.value("size", Json::object());
  preprocess->resize_mode = Mode::PixelBudget;
  preprocess->min_pixels = config.value("min_pixels", size.value("shortest_edge", 56 * 56));
  preprocess->max_pixels = config.value("max_pixels", size.value("longest_edge", 28 * 28 * 1280));
  preprocess->patch = config.value("patch_size", 14);
  preprocess->patch_block = config.value("merge_size", 2);
  preprocess->patch_frames = config.value("temporal_patch_size", 2);
  preprocess->multiple_of = preprocess->patch * preprocess->patch_block;
}

// Zeros after normalisation, right and below: the mean colour.
void read_padding(const Json& config, fbs::PreprocessT* preprocess) {
  if (!config.value("do_pad", false)) return;
  if (!config.contains("pad_size") || preprocess->crop_h > 0)
    fail("do_pad without a pad_size, or with a crop, is not known here");
  preprocess->crop_h = config["pad_size"].at("height");
  preprocess->crop_w = config["pad_size"].at("width");
  preprocess->corner = true;
  preprocess->fill = preprocess->mean;
}

}  // namespace

fbs::PreprocessT transformers_preprocessing(const Json& config) {
  try {
    const Processor& processor = processor_of(config);
    const std::string name = processor.name;
    fbs::PreprocessT preprocess;
    preprocess.filter = filter_numbered(config.value("resample", processor.resample));
    preprocess.crop_floor = true;
    if (config.value("do_flip_channel_order", false)) preprocess.color = fbs::ColorOrder::BGR;
    read_scaling(config, &preprocess);
    if (name == "Qwen2VL") {
      qwen_patches(config, &preprocess);
      return preprocess;
    }
    if (config.value("do_resize", true)) {
      read_size(config, processor, &preprocess);
      if (name == "ConvNext") convnext_size(config, &preprocess);
      if (name == "DPT") dpt_size(config, &preprocess);
    }
    read_crop(config, processor, &preprocess);
    read_padding(config, &preprocess);
    return preprocess;
  } catch (const Json::exception& error) {
    fail("preprocessor_config.json: %s", error.what());
  } catch (const Error& error) {
    fail("preprocessor_config.json: %s", error.what());
  }
}

}  // namespace ferry
