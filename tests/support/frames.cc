#include "tests/support/frames.h"

#include <algorithm>
#include <cmath>

namespace ferry::testing {
namespace {

// Deterministic pseudo-random levels.
uint8_t level_of(uint32_t seed) {
  seed = (seed ^ (seed >> 16)) * 0x7feb352du;
  seed = (seed ^ (seed >> 15)) * 0x846ca68bu;
  return static_cast<uint8_t>(seed ^ (seed >> 16));
}

// Level 0 to 255 of channel `c`: waves, and black and white stripes.
int wavy(int x, int y, int c, int width, int height) {
  if (x * 7 / width % 3 == 1 && y * 5 / height % 2 == 0 && c == 0) return (x / 3 + y / 5) % 2 ? 250 : 5;
  const double wave = std::sin(0.07 * x * (c + 1)) + std::cos(0.05 * y * (3 - c));
  return static_cast<int>(c == 0 ? 128 + 50 * wave : 128 + 12 * wave);
}

double rounded_level(double level) { return std::clamp(std::floor(level + 0.5), 0.0, 255.0); }

double triangle(double x) { return std::max(1 - std::fabs(x), 0.0); }
double box_weight(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
double cubic(double x) {  // Keys 1981, a = -1/2
  x = std::fabs(x);
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  if (x < 2) return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
  return 0;
}

struct ReferenceKernel {
  double (*weight)(double);
  double support;
};
ReferenceKernel reference_kernel(fbs::Filter filter) {
  switch (filter) {
    case fbs::Filter::Bicubic: return {cubic, 2};
    case fbs::Filter::Box: return {box_weight, 0.5};
    default: return {triangle, 1};
  }
}

// One output sample: the mean of `line` under the filter, whose width is the reduction factor.
template <typename Line>
double under(const Line& line, int source, int target, int i, const ReferenceKernel& kernel) {
  const double scale = static_cast<double>(source) / target, stretch = std::max(scale, 1.0);
  const double centre = (i + 0.5) * scale;
  double sum = 0, weights = 0;
  // Pillow rounds the window to whole positions.
  const int begin = std::max(static_cast<int>(centre - kernel.support * stretch + 0.5), 0);
  const int end = std::min(static_cast<int>(centre + kernel.support * stretch + 0.5), source);
  for (int at = begin; at < end; ++at) {
    const double w = kernel.weight((at + 0.5 - centre) / stretch);
    sum += w * line(at);
    weights += w;
  }
  return rounded_level(sum / weights);
}

}  // namespace

std::vector<uint8_t> bytes_of(const Image& image) {
  std::vector<uint8_t> bytes(image.samples.size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(image.samples[i]);
  return bytes;
}

uint8_t* OwnFrame::plane(int index, int columns, int rows, int bytes) {
  ferry_plane& p = frame.planes[index];
  const int pixel = bytes + (gaps_ && bytes < 4 ? 1 : 0), row = columns * pixel + (gaps_ ? 13 : 0);
  std::vector<uint8_t>& own = bytes_[static_cast<size_t>(index)];
  // Ends with the last sample's byte.
  own.resize(static_cast<size_t>((rows - 1) * row + (columns - 1) * pixel + bytes));
  for (size_t i = 0; i < own.size(); ++i) own[i] = level_of(static_cast<uint32_t>(i * 3 + static_cast<size_t>(index)));
  p = {own.data(), own.size(), gaps_ ? row : 0, gaps_ ? pixel : 0};
  if (!gaps_) p.row_stride = 0;
  return own.data();
}

OwnFrame::OwnFrame(ferry_frame_format format, int width, int height, Contents contents, bool gaps) : gaps_(gaps) {
  frame.struct_size = sizeof(frame);
  frame.format = format;
  frame.width = width;
  frame.height = height;
  const int half_w = (width + 1) / 2, half_h = (height + 1) / 2;
  const auto sample = [&](int x, int y, int c) {
    return contents == Contents::Noise ? level_of(static_cast<uint32_t>((y * 4096 + x) * 3 + c))
                                       : wavy(x, y, c, width, height);
  };
  // Fills a plane's samples: byte `byte` of its units is channel `c`, one for so many columns and rows.
  const auto fill = [&](int index, int byte, int c, int columns, int rows, int over_x, int over_y, bool wide = false) {
    const ferry_plane& p = frame.planes[index];
    uint8_t* data = bytes_[static_cast<size_t>(index)].data();
    const int bytes = format == FERRY_FRAME_YUY2                                                 ? 4
                      : format == FERRY_FRAME_RGB                                                ? 3
                      : format == FERRY_FRAME_RGBA || format == FERRY_FRAME_BGRA                 ? 4
                      : format == FERRY_FRAME_P010                                               ? (index == 0 ? 2 : 4)
                      : (format == FERRY_FRAME_NV12 || format == FERRY_FRAME_NV21) && index == 1 ? 2
                                                                                                 : 1;
    const int pixel = p.pixel_stride != 0 ? p.pixel_stride : bytes;
    const int row = p.row_stride != 0 ? p.row_stride : (columns - 1) * pixel + bytes;
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        const int value = sample(std::min(x * over_x, width - 1), std::min(y * over_y, height - 1), c);
        uint8_t* to = data + y * row + x * pixel + byte;
        if (wide) {  // ten bits; the lower six are noise
          const int ten = value * 4 + (x + y) % 4, word = ten << 6 | level_of(static_cast<uint32_t>(x + y)) >> 2;
          to[0] = static_cast<uint8_t>(word), to[1] = static_cast<uint8_t>(word >> 8);
        } else {
          *to = static_cast<uint8_t>(value);
        }
      }
    }
  };
  switch (format) {
    case FERRY_FRAME_YUV420:
      plane(0, width, height, 1), plane(1, half_w, half_h, 1), plane(2, half_w, half_h, 1);
      fill(0, 0, 0, width, height, 1, 1), fill(1, 0, 1, half_w, half_h, 2, 2), fill(2, 0, 2, half_w, half_h, 2, 2);
      break;
    case FERRY_FRAME_NV12:
    case FERRY_FRAME_NV21: {
      const int u = format == FERRY_FRAME_NV12 ? 0 : 1;
      plane(0, width, height, 1), plane(1, half_w, half_h, 2);
      fill(0, 0, 0, width, height, 1, 1), fill(1, u, 1, half_w, half_h, 2, 2), fill(1, 1 - u, 2, half_w, half_h, 2, 2);
      break;
    }
    case FERRY_FRAME_P010:
      plane(0, width, height, 2), plane(1, half_w, half_h, 4);
      fill(0, 0, 0, width, height, 1, 1, true), fill(1, 0, 1, half_w, half_h, 2, 2, true);
      fill(1, 2, 2, half_w, half_h, 2, 2, true);
      break;
    case FERRY_FRAME_YUY2: {
      uint8_t* data = plane(0, half_w, height, 4);
      fill(0, 1, 1, half_w, height, 2, 1), fill(0, 3, 2, half_w, height, 2, 1);
      const int row = frame.planes[0].row_stride != 0 ? frame.planes[0].row_stride : 4 * half_w;
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) data[y * row + 2 * x] = static_cast<uint8_t>(sample(x, y, 0));
      break;
    }
    case FERRY_FRAME_RGBA:
    case FERRY_FRAME_BGRA:
    case FERRY_FRAME_RGB: {
      const int red = format == FERRY_FRAME_BGRA ? 2 : 0;
      plane(0, width, height, format == FERRY_FRAME_RGB ? 3 : 4);
      fill(0, red, 0, width, height, 1, 1), fill(0, 1, 1, width, height, 1, 1),
          fill(0, 2 - red, 2, width, height, 1, 1);
      break;
    }
    case FERRY_FRAME_GRAY:
      plane(0, width, height, 1);
      fill(0, 0, 0, width, height, 1, 1);
      break;
  }
}

// Each format by its specification, pixel by pixel.
std::array<double, 3> OwnFrame::colour(int x, int y) const {
  const auto byte = [&](int index, int unit, int at_x, int at_y, int offset, int columns) {
    const ferry_plane& p = frame.planes[index];
    const int pixel = p.pixel_stride != 0 ? p.pixel_stride : unit;
    const int row = p.row_stride != 0 ? p.row_stride : (columns - 1) * pixel + unit;
    return int{p.data[at_y * row + at_x * pixel + offset]};
  };
  const int w = frame.width, half = (w + 1) / 2, cx = x / 2, cy = y / 2;
  const auto word = [&](int index, int unit, int at_x, int at_y, int offset, int columns) {
    return (byte(index, unit, at_x, at_y, offset, columns) | byte(index, unit, at_x, at_y, offset + 1, columns) << 8) >>
           6;
  };
  double luma = 0, u = 0, v = 0, steps = 255;  // chroma relative to its middle
  switch (frame.format) {
    case FERRY_FRAME_RGB:
      return {double(byte(0, 3, x, y, 0, w)), double(byte(0, 3, x, y, 1, w)), double(byte(0, 3, x, y, 2, w))};
    case FERRY_FRAME_RGBA:
      return {double(byte(0, 4, x, y, 0, w)), double(byte(0, 4, x, y, 1, w)), double(byte(0, 4, x, y, 2, w))};
    case FERRY_FRAME_BGRA:
      return {double(byte(0, 4, x, y, 2, w)), double(byte(0, 4, x, y, 1, w)), double(byte(0, 4, x, y, 0, w))};
    case FERRY_FRAME_GRAY: luma = byte(0, 1, x, y, 0, w); break;
    case FERRY_FRAME_YUV420:
      luma = byte(0, 1, x, y, 0, w), u = byte(1, 1, cx, cy, 0, half) - 128, v = byte(2, 1, cx, cy, 0, half) - 128;
      break;
    case FERRY_FRAME_NV12:
      luma = byte(0, 1, x, y, 0, w), u = byte(1, 2, cx, cy, 0, half) - 128, v = byte(1, 2, cx, cy, 1, half) - 128;
      break;
    case FERRY_FRAME_NV21:
      luma = byte(0, 1, x, y, 0, w), v = byte(1, 2, cx, cy, 0, half) - 128, u = byte(1, 2, cx, cy, 1, half) - 128;
      break;
    case FERRY_FRAME_P010:
      luma = word(0, 2, x, y, 0, w), u = word(1, 4, cx, cy, 0, half) - 512, v = word(1, 4, cx, cy, 2, half) - 512;
      steps = 1023;
      break;
    case FERRY_FRAME_YUY2:
      luma = byte(0, 4, cx, y, x % 2 * 2, half), u = byte(0, 4, cx, y, 1, half) - 128;
      v = byte(0, 4, cx, y, 3, half) - 128;
      break;
  }
  if (frame.range == FERRY_RANGE_LIMITED) {
    const double finer = steps == 255 ? 1 : 4;
    luma = (luma - 16 * finer) / (219 * finer), u /= 224 * finer, v /= 224 * finer;
  } else {
    luma /= steps, u /= steps, v /= steps;
  }
  constexpr double kRed[] = {0.299, 0.2126, 0.2627}, kBlue[] = {0.114, 0.0722, 0.0593};
  const double red_share = kRed[frame.matrix], blue_share = kBlue[frame.matrix];
  const double red = luma + 2 * (1 - red_share) * v, blue = luma + 2 * (1 - blue_share) * u;
  const double green = (luma - red_share * red - blue_share * blue) / (1 - red_share - blue_share);
  return {255 * red, 255 * green, 255 * blue};
}

Image OwnFrame::seen() const {
  const bool all = frame.crop_width == 0;
  const int left = frame.crop_left, top = frame.crop_top;
  Image image{all ? frame.width : frame.crop_width, all ? frame.height : frame.crop_height, {}};
  image.samples.reserve(static_cast<size_t>(3 * image.width * image.height));
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x)
      for (const double level : colour(left + x, top + y)) image.samples.push_back(rounded_level(level));
  }
  // A quarter turn clockwise: the left column, from bottom to top, becomes the first row.
  for (int turned = 0; turned < frame.rotation; turned += 90) {
    Image next{image.height, image.width, std::vector<double>(image.samples.size())};
    for (int y = 0; y < next.height; ++y)
      for (int x = 0; x < next.width; ++x)
        for (int c = 0; c < 3; ++c) next.at(x, y, c) = image.at(y, image.height - 1 - x, c);
    image = next;
  }
  if (frame.mirror) {
    Image next = image;
    for (int y = 0; y < next.height; ++y)
      for (int x = 0; x < next.width; ++x)
        for (int c = 0; c < 3; ++c) next.at(x, y, c) = image.at(next.width - 1 - x, y, c);
    image = next;
  }
  return image;
}

fbs::PreprocessT frame_recipe(fbs::ResizeMode mode, int height, int width, fbs::Filter filter, int crop) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = mode;
  recipe.resize_h = height;
  recipe.resize_w = width;
  recipe.filter = filter;
  recipe.crop_h = recipe.crop_w = crop;
  return recipe;
}

Image resized(const Image& image, int width, int height, fbs::Filter filter) {
  const ReferenceKernel kernel = reference_kernel(filter);
  Image narrow{width, image.height, std::vector<double>(static_cast<size_t>(width * image.height * 3))};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        narrow.at(x, y, c) = width == image.width
                                 ? image.at(x, y, c)
                                 : under([&](int at) { return image.at(at, y, c); }, image.width, width, x, kernel);
  Image out{width, height, std::vector<double>(static_cast<size_t>(width * height * 3))};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        out.at(x, y, c) = height == image.height
                              ? narrow.at(x, y, c)
                              : under([&](int at) { return narrow.at(x, at, c); }, image.height, height, y, kernel);
  return out;
}

std::string name_of(ferry_frame_format format) {
  constexpr const char* kNames[] = {"", "YUV420", "NV12", "NV21", "P010", "YUY2", "RGBA", "BGRA", "RGB", "GRAY"};
  return kNames[format];
}

}  // namespace ferry::testing
