#include "sdk/image/preprocess.h"

#include <cstring>

#include "sdk/image/resize.h"

namespace ferry::image {
namespace {

// ITU-R 601-2 luma in 16-bit fixed point, as Pillow's convert("L").
Status to_gray(const View& rgb, Pixels* out) {
  FERRY_TRY(out->allocate(rgb.width, rgb.height, 1));
  for (int y = 0; y < rgb.height; ++y) {
    const uint8_t* from = rgb.row(y);
    uint8_t* to = out->row(y);
    for (int x = 0; x < rgb.width; ++x, from += 3) {
      to[x] = static_cast<uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
    }
  }
  return {};
}

// Python's round(difference / 2): halves go to the even number.
int half_to_even(int difference) {
  const int half = difference / 2;
  return difference % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

// What one axis of a centre crop takes: `count` samples from `begin`, put at `offset` of the result.
struct Span {
  int begin = 0;
  int count = 0;
  int offset = 0;
};

Span centre(int size, int crop, bool floor) {
  if (crop > size) return {0, size, (crop - size) / 2};
  return {floor ? (size - crop) / 2 : half_to_even(size - crop), crop, 0};
}

Status crop(const View& picture, int width, int height, bool floor, Pixels* out) {
  FERRY_TRY(out->allocate(width, height, picture.channels));
  const Span rows = centre(picture.height, height, floor);
  const Span columns = centre(picture.width, width, floor);
  const auto pixel = static_cast<size_t>(picture.channels);
  for (int y = 0; y < height; ++y) {
    uint8_t* to = out->row(y);
    std::memset(to, 0, static_cast<size_t>(width) * pixel);
    if (y < rows.offset || y >= rows.offset + rows.count) continue;
    const uint8_t* from = picture.row(rows.begin + y - rows.offset) + static_cast<size_t>(columns.begin) * pixel;
    std::memcpy(to + static_cast<size_t>(columns.offset) * pixel, from, static_cast<size_t>(columns.count) * pixel);
  }
  return {};
}

Status resized_size(const fbs::Preprocess& recipe, const View& picture, int* width, int* height) {
  int64_t w = recipe.resize_w(), h = recipe.resize_h();
  if (recipe.resize_mode() == fbs::ResizeMode::ShortestEdge) {
    const int64_t edge = recipe.resize_h();
    w = picture.width <= picture.height ? edge : edge * picture.width / picture.height;
    h = picture.width <= picture.height ? edge * picture.height / picture.width : edge;
  }
  if (w < 1 || h < 1 || w > kMaxSide || h > kMaxSide) {
    return error(FERRY_INVALID_ARGUMENT,
                 "a picture of %dx%d pixels would be resized to %lldx%lld for this model: sides must be 1 to %d",
                 picture.width, picture.height, static_cast<long long>(w), static_cast<long long>(h), kMaxSide);
  }
  *width = static_cast<int>(w);
  *height = static_cast<int>(h);
  return {};
}

}  // namespace

Status prepare(const fbs::Preprocess& recipe, const View& picture, Prepared* out) {
  out->view = picture;
  const auto keep = [out](Pixels made) {
    out->pixels = static_cast<Pixels&&>(made);
    out->view = out->pixels.view();
  };
  if (recipe.color() == fbs::ColorOrder::Gray && picture.channels != 1) {
    Pixels gray;
    FERRY_TRY(to_gray(picture, &gray));
    keep(static_cast<Pixels&&>(gray));
  }
  if (recipe.resize_mode() != fbs::ResizeMode::None) {
    int width = 0, height = 0;
    FERRY_TRY(resized_size(recipe, out->view, &width, &height));
    if (width != out->view.width || height != out->view.height) {
      Pixels resized;
      FERRY_TRY(resize(out->view, width, height, recipe.filter(), &resized));
      keep(static_cast<Pixels&&>(resized));
    }
  }
  if (recipe.crop_h() > 0 && recipe.crop_w() > 0 &&
      (recipe.crop_w() != out->view.width || recipe.crop_h() != out->view.height)) {
    Pixels cropped;
    FERRY_TRY(crop(out->view, recipe.crop_w(), recipe.crop_h(), recipe.crop_floor(), &cropped));
    keep(static_cast<Pixels&&>(cropped));
  }
  return {};
}

Status normalize(const fbs::Preprocess& recipe, const View& picture, float* out) {
  const int channels = picture.channels;
  const auto n = static_cast<unsigned>(channels);
  const auto* mean = recipe.mean();
  const auto* std = recipe.std();
  if ((mean && mean->size() != 0 && mean->size() != n) || (std && std->size() != 0 && std->size() != n)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "the model's recipe has %u means and %u deviations for a picture of %d channels",
                 mean ? mean->size() : 0, std ? std->size() : 0, channels);
  }
  // There are 256 answers a channel. Computed in float in the frameworks' order, so that they round alike.
  float table[4][256];
  for (unsigned c = 0; c < n; ++c) {
    const float m = mean && mean->size() ? mean->Get(c) : 0.0f;
    const float s = std && std->size() ? std->Get(c) : 1.0f;
    for (int v = 0; v < 256; ++v) table[c][v] = (static_cast<float>(v) / 255.0f - m) / s;
  }
  if (channels == 1) {
    for (int y = 0; y < picture.height; ++y) {
      const uint8_t* from = picture.row(y);
      for (int x = 0; x < picture.width; ++x) *out++ = table[0][from[x]];
    }
    return {};
  }
  const bool bgr = recipe.color() == fbs::ColorOrder::BGR;
  const int first = bgr ? 2 : 0, last = bgr ? 0 : 2;
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* from = picture.row(y);
    for (int x = 0; x < picture.width; ++x, from += 3, out += 3) {
      out[0] = table[0][from[first]];
      out[1] = table[1][from[1]];
      out[2] = table[2][from[last]];
    }
  }
  return {};
}

}  // namespace ferry::image
