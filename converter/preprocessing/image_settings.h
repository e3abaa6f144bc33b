// Preprocessing of images that no framework's file describes: from the options of `ferry convert` for ONNX files, or
// from a detector file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "converter/option.h"
#include "converter/settings.h"
#include "ferry_generated.h"

namespace ferry {

// Empty fields are unset.
struct ImageSettings {
  std::vector<double> mean, std;  // one per channel or one for all, in the network's channel order; empty: 0 and 1
  double range = 0;    // of colours before normalisation: 1 or 255; 0: 255 if a mean or deviation is above 1, else 1
  std::string colour;  // rgb, bgr or gray; empty: gray for one channel, else rgb
  std::string resize;  // stretch, letterbox, letterbox-corner, crop, or a shorter edge "256" or size "256x320" before
                       // the centre crop; empty: stretch
  std::string crop;    // "224x224"; must equal the input's size
  std::string filter;  // nearest, box, bilinear, hamming, bicubic, lanczos; empty: bilinear
  std::vector<double> fill;  // colour around an image in a letterbox, in the range of mean; empty: 0

  bool given() const;
};

// --mean, --std, --range, --colour, --resize, --crop, --filter, --fill.
std::span<const Option> image_options();
// Throws Error for malformed numbers.
ImageSettings image_settings(const Settings& settings);
// From an object whose fields have the options' names. `where`: prefix of messages.
ImageSettings image_settings(const nlohmann::json& object, const std::string& where);
// The fields of `over`; fields that it does not set are those of `base`.
ImageSettings overridden(const ImageSettings& base, const ImageSettings& over);

// The blob's preprocessing for an input of height x width x channels. Throws Error for unknown words, numbers for
// another channel count, and a crop of another size than the input.
fbs::PreprocessT blob_preprocessing(const ImageSettings& image, int height, int width, int channels);

}  // namespace ferry
