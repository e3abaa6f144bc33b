// How an image becomes a network's input where no framework's file says it: what users say of ONNX files, by options
// or in a detector's recipe file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "converter/option.h"
#include "converter/settings.h"
#include "ferry_generated.h"

namespace ferry {

// What is empty was not said.
struct ImageSettings {
  std::vector<double> mean, std;  // one a channel or one for all, in the network's order of channels; empty: 0 and 1
  double range = 0;    // of colours before that: 1 or 255; 0: 255 where a mean or a deviation is above 1, otherwise 1
  std::string colour;  // rgb, bgr or gray; empty: as the input's channels say
  std::string resize;  // stretch, letterbox, letterbox-corner, crop, a shorter edge "256" or a size "256x320", of which
                       // the centre is cut out; empty: stretch
  std::string crop;    // "224x224": must be the input's size, which is what is cut out anyway
  std::string filter;  // nearest, box, bilinear, hamming, bicubic, lanczos; empty: bilinear
  std::vector<double> fill;  // around an image in a letterbox: levels as mean's; empty: 0

  bool given() const;
};

// The options that say it: --mean, --std, --range, --colour, --resize, --crop, --filter, --fill.
std::span<const Option> image_options();
// Throws Error where a number is none.
ImageSettings image_settings(const Settings& settings);
// The same names as fields of an object: numbers, lists and words. `where`: begins messages.
ImageSettings image_settings(const nlohmann::json& object, const std::string& where);
// What `over` says, and for the rest what `base` does.
ImageSettings overridden(const ImageSettings& base, const ImageSettings& over);

// The blob's preprocessing for an input of height x width x channels. Throws Error for words that mean nothing, numbers
// for other channels, and a crop that is not the input.
fbs::PreprocessT blob_preprocessing(const ImageSettings& image, int height, int width, int channels);

}  // namespace ferry
