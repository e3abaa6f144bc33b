// How an image becomes the input, from what the frameworks write down about it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ferry_generated.h"

namespace ferry {

// Ways to an image of the right shape: timm's three, of which torchvision knows the first, Segment Anything's, and two
// to images that keep their shape.
enum class CropMode {
  Center,        // what is seen fills the input: resized to cover floor(size / crop_pct), the centre cut out
  Squash,        // resized to floor(size / crop_pct) whatever the proportions, the centre cut out
  Border,        // the whole image: resized to fit into floor(size / crop_pct), the mean colour around it
  Corner,        // the same resized to the longer side, the mean colour right of it and below it
  LeastScaling,  // as much of the input's size as the proportions allow, scaled by as little as need be
  ShortestEdge,  // the shorter edge is as long as the input's, nothing is cut off
};

// Resize and crop to the input's size, then (x - mean) / std.
struct ImagePreprocessing {
  fbs::Filter filter = fbs::Filter::Bicubic;
  double crop_pct = 0.875;
  CropMode crop_mode = CropMode::Center;
  int multiple_of = 1;  // LeastScaling: both sides are
  std::vector<float> mean = {0.485f, 0.456f, 0.406f};
  std::vector<float> std = {0.229f, 0.224f, 0.225f};
};

// The blob's preprocessing for images of 3 channels and an input of height x width. `framework`: "transformers" begins
// an odd crop elsewhere than the others.
fbs::PreprocessT blob_preprocessing(const ImagePreprocessing& image, int height, int width,
                                    const std::string& framework);

// timm's pretrained_cfg: what it says of images replaces what `image`, `height` and `width` have. Throws Error for
// an interpolation or crop mode that timm does not have, and numbers of the wrong kind.
void read_timm_config(const nlohmann::json& pretrained_cfg, ImagePreprocessing* image, int* height, int* width);

// transformers' preprocessor_config.json, in its present and its former spellings. Throws Error for an image processor
// that is not known here: its settings may mean something else.
fbs::PreprocessT transformers_preprocessing(const nlohmann::json& preprocessor_config);

// The input's height and width that preprocessing always leads to; false where they depend on the image.
bool fixed_size(const fbs::PreprocessT& preprocess, int* height, int* width);

// The same preprocessing for an input of another size: what is cut off keeps its share.
void change_size(fbs::PreprocessT* preprocess, int height, int width);

// The same preprocessing for another number of channels: grey has the mean of the three, others repeat them as the
// first convolution's weights are repeated.
void change_channels(fbs::PreprocessT* preprocess, int channels);

}  // namespace ferry
