#include "sdk/image/pixels.h"

namespace ferry::image {

Status Pixels::allocate(int width, int height, int channels) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide || int64_t{width} * height > kMaxPixels) {
    return error(FERRY_INVALID_ARGUMENT, "an image of %dx%d pixels: sides must be 1 to %d, and %lld pixels at most",
                 width, height, kMaxSide, static_cast<long long>(kMaxPixels));
  }
  const size_t bytes = static_cast<size_t>(int64_t{width} * height * channels);
  auto* data = static_cast<uint8_t*>(std::malloc(bytes));
  if (!data)
    return error(FERRY_OUT_OF_MEMORY, "no memory for an image of %dx%d pixels (%zu bytes)", width, height, bytes);
  adopt(data, width, height, channels);
  return {};
}

Status to_rgb(Pixels pixels, Pixels* out) {
  const View gray = pixels.view();
  if (gray.channels == 1) {
    FERRY_TRY(out->allocate(gray.width, gray.height, 3));
    for (int y = 0; y < gray.height; ++y) {
      for (int x = 0; x < 3 * gray.width; ++x) out->row(y)[x] = gray.row(y)[x / 3];
    }
  } else {
    *out = static_cast<Pixels&&>(pixels);
  }
  return {};
}

}  // namespace ferry::image
