#include "converter/preprocessing/image_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/preprocessing/filter.h"

namespace ferry {
namespace {

using Json = nlohmann::json;

// A setting is a list of numbers or a word.
struct ImageField {
  const char* name;
  std::vector<double> ImageSettings::*numbers;
  std::string ImageSettings::*word;
};
constexpr ImageField kImageFields[] = {
    {"mean", &ImageSettings::mean, nullptr},     {"std", &ImageSettings::std, nullptr},
    {"fill", &ImageSettings::fill, nullptr},     {"colour", nullptr, &ImageSettings::colour},
    {"resize", nullptr, &ImageSettings::resize}, {"crop", nullptr, &ImageSettings::crop},
    {"filter", nullptr, &ImageSettings::filter},
};
constexpr const char* kRange = "range";

std::vector<double> listed_numbers(const std::string& text, const std::string& where) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more; ++at) {
    char* stop = nullptr;
    const double number = std::strtod(at, &stop);  // std::from_chars() of libc++ 14 has no floating point
    const std::string_view read(at, static_cast<size_t>(stop - at));
    const bool decimal = !read.empty() && read[0] != '+' && read.find_first_not_of("0123456789.eE+-") == read.npos;
    if (!decimal || !std::isfinite(number) || (stop != end && *stop != ','))
      fail("%s %s: expected numbers with commas between them, like 0.485,0.456,0.406", where.c_str(), text.c_str());
    numbers.push_back(number);
    at = stop;
    more = stop != end;
  }
  return numbers;
}

void check_colour_range(double range, const std::string& where) {
  if (range != 1 && range != 255) fail("%s is %g, expected 1 or 255", where.c_str(), range);
}

// "256" or "256x320". False for other texts.
bool read_sides(const std::string& text, int* height, int* width) {
  const char *at = text.data(), *const end = at + text.size();
  const auto first = std::from_chars(at, end, *height);
  if (first.ec != std::errc() || *height < 1) return false;
  *width = *height;
  if (first.ptr == end) return true;
  if (*first.ptr != 'x') return false;
  const auto second = std::from_chars(first.ptr + 1, end, *width);
  return second.ec == std::errc() && second.ptr == end && *width >= 1;
}

// One level per channel, in 0..1.
std::vector<float> levels_of(const std::vector<double>& numbers, int channels, double range, const char* what) {
  if (numbers.empty()) return {};
  if (numbers.size() != 1 && numbers.size() != static_cast<size_t>(channels))
    fail("%s: %zu numbers for an input of %d channels: expected one, or one a channel", what, numbers.size(), channels);
  std::vector<float> levels;
  for (int c = 0; c < channels; ++c)
    levels.push_back(static_cast<float>(numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(c)] / range));
  return levels;
}

double range_of(const ImageSettings& image) {
  if (image.range != 0) return image.range;
  const auto above = [](const std::vector<double>& numbers) {
    return std::any_of(numbers.begin(), numbers.end(), [](double n) { return n > 1; });
  };
  return above(image.mean) || above(image.std) ? 255 : 1;
}

// Rescales mean and deviation to colours in 0..1.
ImageSettings on_0_to_1(ImageSettings image) {
  const double range = range_of(image);
  for (double& mean : image.mean) mean /= range;
  for (double& deviation : image.std) deviation /= range;
  if (image.std.empty() && range != 1) image.std = {1 / range};
  image.range = image.given() ? 1 : 0;
  return image;
}

fbs::ColorOrder colour_order(const std::string& colour, int channels) {
  if (channels != 1 && channels != 3) fail("the input has %d channels: expected those of an image, 1 or 3", channels);
  if (colour.empty()) return channels == 1 ? fbs::ColorOrder::Gray : fbs::ColorOrder::RGB;
  const bool gray = colour == "gray" || colour == "grey";
  if (!gray && colour != "rgb" && colour != "bgr")
    fail("the colour %s is none of rgb, bgr, gray", in_quotes(colour).c_str());
  if (gray != (channels == 1))
    fail("the colour %s is not for an input of %d channel%s", colour.c_str(), channels, channels == 1 ? "" : "s");
  return gray ? fbs::ColorOrder::Gray : colour == "bgr" ? fbs::ColorOrder::BGR : fbs::ColorOrder::RGB;
}

void set_resizing(const ImageSettings& image, int height, int width, fbs::PreprocessT* preprocess) {
  using Mode = fbs::ResizeMode;
  const std::string& resize = image.resize;
  preprocess->resize_h = height;
  preprocess->resize_w = width;
  if (resize.empty() || resize == "stretch") {
    preprocess->resize_mode = Mode::Exact;
    return;
  }
  preprocess->crop_h = height;
  preprocess->crop_w = width;
  if (resize == "letterbox" || resize == "letterbox-corner") {
    preprocess->resize_mode = Mode::Fit;
    preprocess->corner = resize != "letterbox";
  } else if (resize == "crop") {
    preprocess->resize_mode = Mode::Cover;
  } else if (read_sides(resize, &preprocess->resize_h, &preprocess->resize_w)) {
    preprocess->resize_mode = resize.find('x') == std::string::npos ? Mode::ShortestEdge : Mode::Exact;
    if (preprocess->resize_h < height || preprocess->resize_w < width)
      fail("resizing to %s leaves less than the %dx%d that the input takes", resize.c_str(), height, width);
  } else {
    fail(
        "the resizing %s is none of stretch, letterbox, letterbox-corner, crop, a shorter edge like 256, or a size "
        "like 256x320",
        in_quotes(resize).c_str());
  }
}

// Checks numbers and the range. blob_preprocessing() checks words, because they depend on the input.
void readable(const Option&, const Settings& given, Families) { image_settings(given); }

}  // namespace

bool ImageSettings::given() const {
  return range != 0 || std::any_of(std::begin(kImageFields), std::end(kImageFields), [this](const auto& field) {
           return field.numbers ? !(this->*field.numbers).empty() : !(this->*field.word).empty();
         });
}

std::span<const Option> image_options() {
  static const std::vector<Option> kOptions = {
      {.name = "mean",
       .argument = "LIST",
       .help = "Mean of the colours, one value or one per channel, in the network's channel order",
       .check = readable},
      {.name = "std",
       .argument = "LIST",
       .help = "Standard deviation, like --mean; the network's input is (colour - mean) / deviation",
       .check = readable},
      {.name = "range",
       .argument = "1|255",
       .help = "Maximum of the colours for --mean and --std. Default: 255 if one of them is above 1, else 1",
       .check = readable},
      {.name = "colour", .argument = "rgb|bgr|gray", .help = "Channel order"},
      {.name = "resize",
       .argument = "MODE",
       .help = "Resizing to the input's size: stretch, letterbox (centred), letterbox-corner (top left), crop (the "
               "centre), or resizing to a shorter edge (256) or a size (256x320), then a centre crop"},
      {.name = "crop", .argument = "HxW", .help = "Size of the centre crop; must be the input's size"},
      {.name = "filter", .argument = "nearest|box|bilinear|hamming|bicubic|lanczos", .help = "Filter for resizing"},
      {.name = "fill",
       .argument = "LIST",
       .help = "Colour around the image in a letterbox. Default: black",
       .check = readable},
  };
  return kOptions;
}

ImageSettings image_settings(const Settings& settings) {
  ImageSettings image;
  for (const auto& [name, value] : settings.all()) {
    const std::string where = "--" + name;
    for (const ImageField& field : kImageFields) {
      if (name != field.name) continue;
      if (field.word) image.*field.word = value;
      if (field.numbers) image.*field.numbers = listed_numbers(value, where);
    }
    if (name != kRange) continue;
    image.range = listed_numbers(value, where).front();
    check_colour_range(image.range, where);
  }
  return image;
}

ImageSettings image_settings(const Json& object, const std::string& where) {
  if (!object.is_object()) fail("%s: expected an object", where.c_str());
  ImageSettings image;
  for (const auto& [key, value] : object.items()) {
    const std::string place = where + ": " + key;
    const auto field = std::find_if(std::begin(kImageFields), std::end(kImageFields),
                                    [&name = key](const auto& known) { return name == known.name; });
    if (key == kRange && value.is_number()) {
      check_colour_range(image.range = value, place);
    } else if (field == std::end(kImageFields)) {
      fail("%s has no %s: it has mean, std, range, colour, resize, crop, filter and fill", where.c_str(),
           in_quotes(key).c_str());
    } else if (field->word != nullptr && (value.is_string() || value.is_number_unsigned())) {
      image.*field->word = value.is_string() ? value.get<std::string>() : value.dump();
    } else if (field->numbers != nullptr && (value.is_number() || value.is_array())) {
      const Json list = value.is_array() ? value : Json::array({value});
      for (const Json& number : list) {
        if (!number.is_number()) fail("%s: expected numbers", place.c_str());
        (image.*field->numbers).push_back(number);
      }
    } else {
      fail("%s: expected %s", place.c_str(), field->word ? "a word" : "numbers");
    }
  }
  return image;
}

ImageSettings overridden(const ImageSettings& base, const ImageSettings& over) {
  ImageSettings out = on_0_to_1(base), last = on_0_to_1(over);
  // A deviation that on_0_to_1() derived from the range does not override an explicit one.
  if (over.std.empty() && !out.std.empty()) last.std.clear();
  for (const ImageField& field : kImageFields) {
    if (field.numbers && !(last.*field.numbers).empty()) out.*field.numbers = last.*field.numbers;
    if (field.word && !(last.*field.word).empty()) out.*field.word = last.*field.word;
  }
  return out;
}

fbs::PreprocessT blob_preprocessing(const ImageSettings& image, int height, int width, int channels) {
  fbs::PreprocessT preprocess;
  preprocess.color = colour_order(image.colour, channels);
  set_resizing(image, height, width, &preprocess);
  if (int h = 0, w = 0; !image.crop.empty()) {
    if (!read_sides(image.crop, &h, &w)) fail("the crop %s is no size like 224x224", in_quotes(image.crop).c_str());
    if (h != height || w != width) fail("a crop of %dx%d: the input takes %dx%d", h, w, height, width);
  }
  if (!image.filter.empty()) preprocess.filter = filter_named(image.filter, "the filter");
  const ImageSettings scaled = on_0_to_1(image);
  preprocess.mean = levels_of(scaled.mean, channels, 1, "mean");
  preprocess.std = levels_of(scaled.std, channels, 1, "std");
  // A blob has both or neither.
  if (preprocess.mean.empty()) preprocess.mean.assign(preprocess.std.size(), 0.0f);
  if (preprocess.std.empty()) preprocess.std.assign(preprocess.mean.size(), 1.0f);
  for (const float deviation : preprocess.std)
    if (!(deviation > 0)) fail("std: %g, expected more than 0", static_cast<double>(deviation));
  if (preprocess.resize_mode == fbs::ResizeMode::Fit) {
    const bool levels = std::any_of(image.fill.begin(), image.fill.end(), [](double n) { return n > 1; });
    preprocess.fill = levels_of(image.fill, channels, levels ? 255 : 1, "fill");
  } else if (!image.fill.empty()) {
    fail("fill: is for a letterbox, nothing else leaves room around an image");
  }
  return preprocess;
}

}  // namespace ferry
