// Image files of every format: decoding, and the checks before it.
#include <ferry/image.h>

#include "sdk/image/exif.h"
#include "sdk/image/jpeg_check.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(image) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const int orientation = image::exif_orientation(data, bytes.size());
  require(orientation >= 1 && orientation <= 8, "an orientation that is none");
  image::fault_of_jpeg(data, bytes.size());
  ferry_image image{};
  if (ferry_image_decode(data, bytes.size(), &image) != FERRY_OK) {
    require(*ferry_last_error() != 0 && image.pixels == nullptr, "a failure without a sentence, or with pixels");
    return;
  }
  require(image.width > 0 && image.height > 0, "an image of no size");
  for (int32_t y = 0; y < image.height; ++y)
    touch(std::span(image.pixels + y * image.stride, static_cast<size_t>(image.width) * 3));
  ferry_image_free(&image);
}
