#include "sdk/image/preprocess.h"

#include <algorithm>
#include <cmath>

#include "sdk/image/normalizer.h"
#include "sdk/image/resize.h"

namespace ferry::image {
namespace {

Status to_gray(const View& rgb, Pixels* out) {
  FERRY_TRY(out->allocate(rgb.width, rgb.height, 1));
  for (int y = 0; y < rgb.height; ++y) {
    const uint8_t* from = rgb.row(y);
    uint8_t* to = out->row(y);
    for (int x = 0; x < rgb.width; ++x, from += 3) to[x] = luma(from[0], from[1], from[2]);
  }
  return {};
}

// Python's round(difference / 2): ties to even.
int half_to_even(int difference) {
  const int half = difference / 2;
  return difference % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

Span crop_span(const fbs::Preprocess& recipe, int size, int crop) {
  if (crop > size) return {0, size, recipe.corner() ? 0 : (crop - size) / 2};
  return {recipe.crop_floor() ? (size - crop) / 2 : half_to_even(size - crop), crop, 0};
}

struct Size {
  double width;
  double height;
};

// The size to which an image of width x height is resized. Operations are in the frameworks' order, because another
// order may round differently. nearbyint() is Python's round(): ties to even.
Size resized_size(const fbs::Preprocess& recipe, double width, double height) {
  const double to_w = recipe.resize_w(), to_h = recipe.resize_h();
  const double multiple = recipe.multiple_of();
  switch (recipe.resize_mode()) {
    case fbs::ResizeMode::None: break;
    case fbs::ResizeMode::ShortestEdge:
      return width <= height ? Size{to_h, std::floor(to_h * height / width)}
                             : Size{std::floor(to_h * width / height), to_h};
    case fbs::ResizeMode::Exact: return {to_w, to_h};
    case fbs::ResizeMode::LongestEdge: {
      const double scale = to_h / std::max(width, height);
      return {std::floor(width * scale + 0.5), std::floor(height * scale + 0.5)};
    }
    case fbs::ResizeMode::Cover:
    case fbs::ResizeMode::Fit: {
      const double w = width / to_w, h = height / to_h;
      const double ratio = recipe.resize_mode() == fbs::ResizeMode::Fit ? std::max(w, h) : std::min(w, h);
      return {std::nearbyint(width / ratio), std::nearbyint(height / ratio)};
    }
    case fbs::ResizeMode::LeastScaling: {
      const double w = to_w / width, h = to_h / height;
      const double scale = std::fabs(1 - w) < std::fabs(1 - h) ? w : h;
      return {std::nearbyint(scale * width / multiple) * multiple,
              std::nearbyint(scale * height / multiple) * multiple};
    }
    case fbs::ResizeMode::PixelBudget: {
      const double maximum = recipe.max_pixels(), minimum = recipe.min_pixels();
      const double w = std::nearbyint(width / multiple) * multiple, h = std::nearbyint(height / multiple) * multiple;
      if (w * h > maximum) {
        const double by = std::sqrt(width * height / maximum);
        return {std::max(multiple, std::floor(width / by / multiple) * multiple),
                std::max(multiple, std::floor(height / by / multiple) * multiple)};
      }
      if (w * h >= minimum) return {w, h};
      const double by = std::sqrt(minimum / (width * height));
      return {std::ceil(width * by / multiple) * multiple, std::ceil(height * by / multiple) * multiple};
    }
  }
  return {width, height};
}

}  // namespace

Status resized(const fbs::Preprocess& recipe, int width, int height, int* new_width, int* new_height) {
  // transformers' limit: beyond it, a budget of pixels is not meaningful.
  constexpr int kMaxRatio = 200;
  if (recipe.resize_mode() == fbs::ResizeMode::PixelBudget && recipe.patch() > 0 &&
      std::max(width, height) > int64_t{kMaxRatio} * std::min(width, height)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "an image of %dx%d pixels: for this model one side is at most %d times as long as the other", width,
                 height, kMaxRatio);
  }
  const Size size = resized_size(recipe, width, height);
  if (!(size.width >= 1 && size.height >= 1 && size.width <= kMaxSide && size.height <= kMaxSide &&
        size.width * size.height <= static_cast<double>(kMaxPixels))) {
    return error(FERRY_INVALID_ARGUMENT,
                 "an image of %dx%d pixels would be resized to %.0fx%.0f for this model: sides must be 1 to %d, and "
                 "%lld pixels at most",
                 width, height, size.width, size.height, kMaxSide, static_cast<long long>(kMaxPixels));
  }
  *new_width = static_cast<int>(size.width);
  *new_height = static_cast<int>(size.height);
  return {};
}

Status plan(const fbs::Preprocess& recipe, int width, int height, Plan* out) {
  FERRY_TRY(resized(recipe, width, height, &out->width, &out->height));
  out->geometry = {static_cast<double>(out->width) / width, static_cast<double>(out->height) / height};
  out->columns = {0, out->width, 0};
  out->rows = {0, out->height, 0};
  out->seen_width = out->width;
  out->seen_height = out->height;
  if (recipe.crop_h() > 0 && recipe.crop_w() > 0) {
    out->rows = crop_span(recipe, out->height, recipe.crop_h());
    out->columns = crop_span(recipe, out->width, recipe.crop_w());
    out->geometry.shift_x = out->columns.offset - out->columns.begin;
    out->geometry.shift_y = out->rows.offset - out->rows.begin;
    out->seen_height = recipe.crop_h();
    out->seen_width = recipe.crop_w();
  }
  return {};
}

Status prepare(const fbs::Preprocess& recipe, const View& image, Prepared* out) {
  out->view = image;
  const auto keep = [out](Pixels made) {
    out->pixels = static_cast<Pixels&&>(made);
    out->view = out->pixels.view();
  };
  if (recipe.color() == fbs::ColorOrder::Gray && image.channels != 1) {
    Pixels gray;
    FERRY_TRY(to_gray(image, &gray));
    keep(static_cast<Pixels&&>(gray));
  }
  Plan planned;
  FERRY_TRY(plan(recipe, image.width, image.height, &planned));
  if (planned.width != image.width || planned.height != image.height) {
    Pixels resized;
    FERRY_TRY(resize(out->view, planned.width, planned.height, recipe.filter(), &resized));
    keep(static_cast<Pixels&&>(resized));
  }
  out->geometry = planned.geometry;
  View& view = out->view;
  view = {view.row(planned.rows.begin) + int64_t{planned.columns.begin} * view.channels, planned.columns.count,
          planned.rows.count, view.channels, view.stride};
  out->top = planned.rows.offset;
  out->left = planned.columns.offset;
  out->height = planned.seen_height;
  out->width = planned.seen_width;
  return {};
}

Status normalize(const fbs::Preprocess& recipe, const Seen& seen, float* out) {
  const View& view = seen.view;
  Normalizer normalizer;
  FERRY_TRY(normalizer.prepare(recipe, seen.height, seen.width, view.channels));
  for (int y = 0; y < seen.height; ++y) {
    Normalizer::Line line = {nullptr, view.channels, seen.left, 0};
    if (y >= seen.top && y < seen.top + view.height) line.pixels = view.row(y - seen.top), line.count = view.width;
    normalizer.row(y, line, out);
  }
  return {};
}

}  // namespace ferry::image
