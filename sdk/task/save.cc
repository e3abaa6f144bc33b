#include "sdk/task/save.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "sdk/files/new_file.h"
#include "sdk/image/codec.h"
#include "sdk/image/resize.h"
#include "sdk/operators/built_in.h"
#include "sdk/task/foreground.h"

namespace ferry::task {
namespace {

struct Colour {
  uint8_t r, g, b;
};

// From far to near: dark to bright, in equal steps of lightness.
constexpr Colour kRamp[] = {{0, 0, 4},      {28, 16, 68},   {79, 18, 123},   {129, 37, 129}, {181, 54, 122},
                            {229, 80, 100}, {251, 135, 97}, {254, 194, 135}, {252, 253, 191}};

Colour ramp(float nearness) {
  constexpr int kSteps = static_cast<int>(std::size(kRamp)) - 1;
  const float place = nearness * kSteps;
  const int first = std::min(static_cast<int>(place), kSteps - 1);
  const float weight = place - static_cast<float>(first);
  const auto mix = [weight](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lrintf(a + (b - a) * weight)); };
  const Colour &a = kRamp[first], &b = kRamp[first + 1];
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

// 0 for the farthest and for NaN or infinity, 1 for the nearest.
float nearness(const ferry_answer& map, float value) {
  if (!(map.maximum > map.minimum) || std::isnan(value)) return 0;
  const float part = std::clamp((value - map.minimum) / (map.maximum - map.minimum), 0.0f, 1.0f);
  return map.sense == FERRY_SENSE_METRES ? 1 - part : part;
}

// With 16 bits, metres become millimetres.
long level16(const ferry_answer& map, float value) {
  if (map.sense == FERRY_SENSE_METRES) return value > 0 ? std::lrintf(std::min(value * 1000.0f, 65535.0f)) : 0;
  return std::lrintf(nearness(map, value) * 65535.0f);
}

// Converts each element to a pixel with `pixel(from, to)`.
template <typename T, typename Pixel>
Status save_pixels(const ferry_answer& answer, const T* elements, int channels, const char* path, const Pixel& pixel,
                   bool sixteen_bits = false) {
  image::Pixels pixels;
  FERRY_TRY(pixels.allocate(answer.width, answer.height, channels));
  for (int y = 0; y < answer.height; ++y) {
    uint8_t* to = pixels.row(y);
    for (int x = 0; x < answer.width; ++x, to += channels) pixel(*elements++, to);
  }
  return image::save(pixels.view(), path, sixteen_bits);
}

void put(const Colour& colour, uint8_t* to) {
  to[0] = colour.r;
  to[1] = colour.g;
  to[2] = colour.b;
}

// Portable Float Map: a negative scale means little-endian; bottom row first.
Status save_pfm(const ferry_answer& map, const char* path) {
  char header[64];
  const int length = std::snprintf(header, sizeof(header), "Pf\n%d %d\n-1.0\n", map.width, map.height);
  const size_t begin = static_cast<size_t>(length), row = static_cast<size_t>(map.width) * sizeof(float);
  std::vector<char> bytes(begin + row * static_cast<size_t>(map.height));
  std::memcpy(bytes.data(), header, begin);
  for (int y = 0; y < map.height; ++y) {
    std::memcpy(&bytes[begin + row * static_cast<size_t>(map.height - 1 - y)], map.map + int64_t{y} * map.width, row);
  }
  return replace_file(path, std::as_bytes(std::span(bytes)), {.durable = false});
}

Status save_map(const ferry_answer& map, const char* path, ferry_save_style style) {
  const std::string_view name = path;
  if (name.size() >= 4 && name.substr(name.size() - 4) == ".pfm") return save_pfm(map, path);
  switch (style) {
    case FERRY_SAVE_PLAIN:
      return save_pixels(map, map.map, 1, path, [&](float value, uint8_t* to) {
        *to = static_cast<uint8_t>(std::lrintf(nearness(map, value) * 255.0f));
      });
    case FERRY_SAVE_COLOURS:
      return save_pixels(map, map.map, 3, path, [&](float value, uint8_t* to) { put(ramp(nearness(map, value)), to); });
    case FERRY_SAVE_16_BIT: break;
  }
  const auto pixel = [&](float value, uint8_t* to) {
    const long level = level16(map, value);
    to[0] = static_cast<uint8_t>(level >> 8);
    to[1] = static_cast<uint8_t>(level & 255);
  };
  return save_pixels(map, map.map, 2, path, pixel, true);
}

Status save_labels(const ferry_answer& map, const char* path, ferry_save_style style) {
  if (style == FERRY_SAVE_COLOURS) {
    return save_pixels(map, map.labels, 3, path, [](uint16_t label, uint8_t* to) {
      const uint32_t colour = label_colour(label);
      put({static_cast<uint8_t>(colour >> 16), static_cast<uint8_t>(colour >> 8), static_cast<uint8_t>(colour)}, to);
    });
  }
  for (size_t i = 0; i < map.class_count; ++i) {
    if (map.classes[i].index > 255) {
      return error(FERRY_INVALID_ARGUMENT, "class %d is no level of a grey PNG, which has 256: save colours instead",
                   map.classes[i].index);
    }
  }
  return save_pixels(map, map.labels, 1, path, [](uint16_t label, uint8_t* to) { *to = static_cast<uint8_t>(label); });
}

Status check_mask(const ferry_answer& answer, const image::View& image) {
  if (answer.kind != FERRY_ANSWER_MASK) return error(FERRY_INVALID_ARGUMENT, "this answer is not a mask");
  if (answer.width == image.width && answer.height == image.height) return {};
  return error(FERRY_INVALID_ARGUMENT, "a mask of %dx%d pixels for an image of %dx%d: it is of another image",
               answer.width, answer.height, image.width, image.height);
}

image::View mask_view(const ferry_answer& answer) {
  return {answer.mask, answer.width, answer.height, 1, answer.width};
}

}  // namespace

Status save_foreground(const ferry_answer& answer, const image::View& image, const char* path) {
  if (!built_in(Feature::Files)) return without_files();
  FERRY_TRY(check_mask(answer, image));
  image::Pixels colours, cut;
  FERRY_TRY(estimate_foreground(image, mask_view(answer), &colours));
  FERRY_TRY(cut.allocate(image.width, image.height, 4));
  for (int y = 0; y < image.height; ++y) {
    const uint8_t *from = colours.row(y), *alpha = mask_view(answer).row(y);
    uint8_t* to = cut.row(y);
    for (int x = 0; x < image.width; ++x, from += 3, to += 4) {
      std::memcpy(to, from, 3);
      to[3] = alpha[x];
    }
  }
  return image::save(cut.view(), path);
}

Status composite(const ferry_answer& answer, const image::View& image, const image::View& background,
                 image::Pixels* out) {
  if (!any_built_in(fbs::Task::PromptedSegmentation, fbs::Task::Matting)) return left_out("support for masks");
  FERRY_TRY(check_mask(answer, image));
  const double scale = std::max(static_cast<double>(image.width) / background.width,
                                static_cast<double>(image.height) / background.height);
  const int width = std::max(image.width, static_cast<int>(std::lrint(background.width * scale)));
  const int height = std::max(image.height, static_cast<int>(std::lrint(background.height * scale)));
  image::Pixels behind;
  FERRY_TRY(image::resize(background, width, height, fbs::Filter::Bilinear, &behind));
  FERRY_TRY(estimate_foreground(image, mask_view(answer), out));
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* from = behind.row(y + (height - image.height) / 2) + int64_t{width - image.width} / 2 * 3;
    const uint8_t* alpha = mask_view(answer).row(y);
    uint8_t* to = out->row(y);
    for (int i = 0; i < 3 * image.width; ++i) {
      const int a = alpha[i / 3];
      to[i] = static_cast<uint8_t>((to[i] * a + from[i] * (255 - a) + 127) / 255);
    }
  }
  return {};
}

uint32_t label_colour(int index) {
  // The colours of the Pascal VOC benchmark: bit i of the index is bit 7 - i / 3 of red, green or blue (i modulo 3).
  uint32_t r = 0, g = 0, b = 0;
  for (int bit = 7; index != 0 && bit >= 0; --bit, index >>= 3) {
    r |= static_cast<uint32_t>(index & 1) << bit;
    g |= static_cast<uint32_t>(index >> 1 & 1) << bit;
    b |= static_cast<uint32_t>(index >> 2 & 1) << bit;
  }
  return r << 16 | g << 8 | b;
}

Status save(const ferry_answer& answer, const char* path, ferry_save_style style) {
  if (!built_in(Feature::Files)) return without_files();
  if (style < FERRY_SAVE_PLAIN || style > FERRY_SAVE_16_BIT)
    return error(FERRY_INVALID_ARGUMENT, "style %d: expected a ferry_save_style", static_cast<int>(style));
  if (style == FERRY_SAVE_16_BIT && answer.kind != FERRY_ANSWER_MAP)
    return error(FERRY_INVALID_ARGUMENT, "16 bits are for maps: this answer is none");
  switch (answer.kind) {
    case FERRY_ANSWER_MAP: return save_map(answer, path, style);
    case FERRY_ANSWER_LABELS: return save_labels(answer, path, style);
    case FERRY_ANSWER_MASK: return image::save({answer.mask, answer.width, answer.height, 1, answer.width}, path);
    case FERRY_ANSWER_IMAGE: {
      const ferry_image& p = answer.image;
      return image::save({p.pixels, p.width, p.height, 3, p.stride}, path);
    }
    default: return error(FERRY_INVALID_ARGUMENT, "this answer is no image: there is nothing to save as %s", path);
  }
}

}  // namespace ferry::task
