// 8-bit images inside the library: top row first, the samples of a pixel adjacent.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "sdk/status.h"

namespace ferry::image {

// Maximum side, and maximum number of pixels (3 bytes each), of an image that is read or created.
inline constexpr int kMaxSide = 32768;
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

// Samples owned elsewhere; rows are `stride` bytes apart.
struct View {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  int channels = 0;
  int64_t stride = 0;

  const uint8_t* row(int y) const { return data + y * stride; }
};

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

// Owned samples without padding. Allocated by malloc, so that ownership can pass to a C caller.
class Pixels {
 public:
  // FERRY_INVALID_ARGUMENT beyond kMaxSide or kMaxPixels, FERRY_OUT_OF_MEMORY. Contents are undefined.
  Status allocate(int width, int height, int channels);

  // Takes ownership of samples allocated by malloc.
  void adopt(uint8_t* data, int width, int height, int channels) {
    data_.reset(data);
    width_ = width;
    height_ = height;
    channels_ = channels;
  }

  uint8_t* row(int y) { return data_.get() + int64_t{y} * width_ * channels_; }
  View view() const { return {data_.get(), width_, height_, channels_, int64_t{width_} * channels_}; }
  uint8_t* release() { return data_.release(); }

 private:
  std::unique_ptr<uint8_t, FreeDeleter> data_;
  int width_ = 0;
  int height_ = 0;
  int channels_ = 0;
};

// Converts grey to RGB; RGB is unchanged.
Status to_rgb(Pixels pixels, Pixels* out);

}  // namespace ferry::image
