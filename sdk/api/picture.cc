#include "sdk/api/picture.h"

namespace ferry {

Status view_of(const ferry_image& picture, image::View* view) {
  if (!picture.pixels) return error(FERRY_INVALID_ARGUMENT, "a picture without pixels: load one first");
  if (picture.width < 1 || picture.height < 1 || picture.width > image::kMaxSide || picture.height > image::kMaxSide) {
    return error(FERRY_INVALID_ARGUMENT, "a picture of %dx%d pixels: sides must be 1 to %d", picture.width,
                 picture.height, image::kMaxSide);
  }
  if (picture.stride < 3 * picture.width) {
    return error(FERRY_INVALID_ARGUMENT, "a picture %d pixels wide with rows of %d bytes: RGB needs %d", picture.width,
                 picture.stride, 3 * picture.width);
  }
  *view = {picture.pixels, picture.width, picture.height, 3, picture.stride};
  return {};
}

void give(image::Pixels pixels, ferry_image* out) {
  const image::View view = pixels.view();
  *out = {pixels.release(), view.width, view.height, static_cast<int32_t>(view.stride), true};
}

}  // namespace ferry
