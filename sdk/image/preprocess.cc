#include "sdk/image/preprocess.h"

#include <algorithm>
#include <cmath>

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

// One axis of a crop: `count` samples from `begin`, put at `offset` of the result.
struct Span {
  int begin = 0;
  int count = 0;
  int offset = 0;
};

Span crop_span(const fbs::Preprocess& recipe, int size, int crop) {
  if (crop > size) return {0, size, recipe.corner() ? 0 : (crop - size) / 2};
  return {recipe.crop_floor() ? (size - crop) / 2 : half_to_even(size - crop), crop, 0};
}

struct Size {
  double width;
  double height;
};

// What the recipe resizes a picture of width x height to. Divisions and products are in the frameworks' order: another
// one may round to another pixel. nearbyint() is Python's round(): halves go to the even number.
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

// Numbers of a recipe, one a channel; where there are none, each is `otherwise`.
class PerChannel {
 public:
  PerChannel(const flatbuffers::Vector<float>* values, float otherwise) : values_(values), otherwise_(otherwise) {}

  unsigned count() const { return values_ ? values_->size() : 0; }
  bool fits(unsigned channels) const { return count() == 0 || count() == channels; }
  float operator[](unsigned channel) const { return count() ? values_->Get(channel) : otherwise_; }

 private:
  const flatbuffers::Vector<float>* values_;
  float otherwise_;
};

// From levels to what the network reads.
class Scaling {
 public:
  Status prepare(const fbs::Preprocess& recipe, int channels) {
    const PerChannel mean(recipe.mean(), 0.0f), std(recipe.std(), 1.0f), fill(recipe.fill(), 0.0f);
    const auto n = static_cast<unsigned>(channels);
    if (!mean.fits(n) || !std.fits(n) || !fill.fits(n)) {
      return error(FERRY_INVALID_ARGUMENT,
                   "the model's recipe has %u means, %u deviations and %u fills for a picture of %d channels",
                   mean.count(), std.count(), fill.count(), channels);
    }
    channels_ = channels;
    reversed_ = recipe.color() == fbs::ColorOrder::BGR;
    // Computed in float in the frameworks' order, so that they round alike.
    for (unsigned c = 0; c < n; ++c) {
      for (int v = 0; v < kLevels; ++v) table_[c][v] = (static_cast<float>(v) / kWhite - mean[c]) / std[c];
      fill_[c] = (fill[c] - mean[c]) / std[c];
    }
    return {};
  }

  // `count` pixels of row `y` from `x` on, whose samples go `pixel_step` and `channel_step` numbers apart.
  void row(const Seen& seen, int y, int x, int count, float* out, int64_t pixel_step, int64_t channel_step) const {
    const View& view = seen.view;
    const bool inside = y >= seen.top && y < seen.top + view.height;
    const int begin = inside ? std::clamp(seen.left - x, 0, count) : count;
    const int end = inside ? std::clamp(seen.left + view.width - x, begin, count) : count;
    for (int c = 0; c < channels_; ++c) {
      float* to = out + c * channel_step;
      const float* table = table_[c];
      for (int i = 0; i < begin; ++i) to[i * pixel_step] = fill_[c];
      for (int i = end; i < count; ++i) to[i * pixel_step] = fill_[c];
      if (begin == end) continue;
      const uint8_t* from =
          view.row(y - seen.top) + int64_t{x + begin - seen.left} * channels_ + (reversed_ ? channels_ - 1 - c : c);
      for (int i = begin; i < end; ++i, from += channels_) to[i * pixel_step] = table[*from];
    }
  }

 private:
  static constexpr int kLevels = 256;
  static constexpr float kWhite = 255.0f;
  float table_[4][kLevels];
  float fill_[4];
  int channels_ = 0;
  bool reversed_ = false;
};

// Square patches in blocks: each [channels, frames, patch, patch], with the same picture in every frame.
Status patches(const fbs::Preprocess& recipe, const Scaling& scaling, const Seen& seen, float* out) {
  const int patch = recipe.patch(), frames = recipe.patch_frames(), side = patch * recipe.patch_block();
  if (seen.width % side != 0 || seen.height % side != 0) {
    return error(FERRY_INVALID_ARGUMENT,
                 "a picture of %dx%d pixels cannot be cut into blocks of %dx%d patches of %d pixels each", seen.width,
                 seen.height, recipe.patch_block(), recipe.patch_block(), patch);
  }
  const int64_t frame = int64_t{patch} * patch, channel = frame * frames;
  for (int block_y = 0; block_y < seen.height; block_y += side) {
    for (int block_x = 0; block_x < seen.width; block_x += side) {
      for (int top = block_y; top < block_y + side; top += patch) {
        for (int left = block_x; left < block_x + side; left += patch, out += channel * seen.view.channels) {
          for (int f = 0; f < frames; ++f) {
            for (int y = 0; y < patch; ++y) {
              scaling.row(seen, top + y, left, patch, out + f * frame + int64_t{y} * patch, 1, channel);
            }
          }
        }
      }
    }
  }
  return {};
}

}  // namespace

Status resized(const fbs::Preprocess& recipe, int width, int height, int* new_width, int* new_height) {
  // transformers' limit, too: beyond it a budget of pixels says little.
  constexpr int kMaxRatio = 200;
  if (recipe.resize_mode() == fbs::ResizeMode::PixelBudget && recipe.patch() > 0 &&
      std::max(width, height) > int64_t{kMaxRatio} * std::min(width, height)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "a picture of %dx%d pixels: for this model one side is at most %d times as long as the other", width,
                 height, kMaxRatio);
  }
  const Size size = resized_size(recipe, width, height);
  if (!(size.width >= 1 && size.height >= 1 && size.width <= kMaxSide && size.height <= kMaxSide)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "a picture of %dx%d pixels would be resized to %.0fx%.0f for this model: sides must be 1 to %d", width,
                 height, size.width, size.height, kMaxSide);
  }
  *new_width = static_cast<int>(size.width);
  *new_height = static_cast<int>(size.height);
  return {};
}

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
  FERRY_TRY(resized(recipe, picture.width, picture.height, &out->width, &out->height));
  if (out->width != picture.width || out->height != picture.height) {
    Pixels resized;
    FERRY_TRY(resize(out->view, out->width, out->height, recipe.filter(), &resized));
    keep(static_cast<Pixels&&>(resized));
  }
  out->geometry = {static_cast<double>(out->width) / picture.width, static_cast<double>(out->height) / picture.height};
  out->top = out->left = 0;
  if (recipe.crop_h() > 0 && recipe.crop_w() > 0) {
    const Span rows = crop_span(recipe, out->height, recipe.crop_h());
    const Span columns = crop_span(recipe, out->width, recipe.crop_w());
    View& view = out->view;
    view = {view.row(rows.begin) + int64_t{columns.begin} * view.channels, columns.count, rows.count, view.channels,
            view.stride};
    out->top = rows.offset;
    out->left = columns.offset;
    out->geometry.shift_x = columns.offset - columns.begin;
    out->geometry.shift_y = rows.offset - rows.begin;
    out->height = recipe.crop_h();
    out->width = recipe.crop_w();
  }
  return {};
}

Status normalize(const fbs::Preprocess& recipe, const Seen& seen, float* out) {
  Scaling scaling;
  FERRY_TRY(scaling.prepare(recipe, seen.view.channels));
  if (recipe.patch() > 0) return patches(recipe, scaling, seen, out);
  const int channels = seen.view.channels;
  for (int y = 0; y < seen.height; ++y) {
    scaling.row(seen, y, 0, seen.width, out + int64_t{y} * seen.width * channels, channels, 1);
  }
  return {};
}

}  // namespace ferry::image
