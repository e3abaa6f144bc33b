#include "sdk/api/view.h"

namespace ferry {

Status view_of(const ferry_image& image, image::View* view) {
  if (!image.pixels) return error(FERRY_INVALID_ARGUMENT, "an image without pixels: load one first");
  if (image.width < 1 || image.height < 1 || image.width > image::kMaxSide || image.height > image::kMaxSide) {
    return error(FERRY_INVALID_ARGUMENT, "an image of %dx%d pixels: sides must be 1 to %d", image.width, image.height,
                 image::kMaxSide);
  }
  if (image.stride < 3 * image.width) {
    return error(FERRY_INVALID_ARGUMENT, "an image %d pixels wide with rows of %d bytes: RGB needs %d", image.width,
                 image.stride, 3 * image.width);
  }
  *view = {image.pixels, image.width, image.height, 3, image.stride};
  return {};
}

void give(image::Pixels pixels, ferry_image* out) {
  const image::View view = pixels.view();
  *out = {pixels.release(), view.width, view.height, static_cast<int32_t>(view.stride), true};
}

}  // namespace ferry
