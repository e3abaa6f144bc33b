// The C API of image.h.
#include <ferry/image.h>

#include "sdk/api/handles.h"
#include "sdk/image/classify.h"
#include "sdk/image/codec.h"
#include "sdk/image/enhance.h"
#include "sdk/image/preprocess.h"

namespace {

using ferry::error;
using ferry::report;
using ferry::Status;
namespace fbs = ferry::fbs;
namespace image = ferry::image;

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

Status set_image(ferry_session* session, const ferry_image& picture) {
  const fbs::Model& graph = session->idle().model().graph();
  const fbs::Preprocess* recipe = graph.preprocess();
  if (!recipe) {
    return error(FERRY_INVALID_ARGUMENT,
                 "this model has no recipe for pictures: write its input with ferry_session_input()");
  }
  image::View view;
  FERRY_TRY(view_of(picture, &view));
  ferry_tensor input;
  if (ferry_session_input(session, 0, &input) != FERRY_OK) return Status(FERRY_INVALID_ARGUMENT, ferry_last_error());
  const int channels = recipe->color() == fbs::ColorOrder::Gray ? 1 : 3;
  if (input.rank != 4 || input.shape[0] != 1 || input.shape[3] != channels || input.dtype != FERRY_FLOAT32) {
    return error(FERRY_INVALID_ARGUMENT,
                 "input %s takes no picture of %d channels: write it with ferry_session_input()", input.name, channels);
  }
  image::Prepared prepared;
  FERRY_TRY(image::prepare(*recipe, view, &prepared));
  const int32_t shape[4] = {1, prepared.view.height, prepared.view.width, channels};
  if (input.shape[1] != shape[1] || input.shape[2] != shape[2]) {
    const ferry_status status = ferry_session_resize(session, 0, shape, 4);
    if (status != FERRY_OK) return Status(status, ferry_last_error());
    const ferry_status again = ferry_session_input(session, 0, &input);
    if (again != FERRY_OK) return Status(again, ferry_last_error());
  }
  return image::normalize(*recipe, prepared.view, static_cast<float*>(input.data));
}

Status classify(ferry_session* session, ferry_class* classes, size_t* count) {
  const size_t room = *count;
  *count = 0;
  const fbs::Model& graph = session->idle().model().graph();
  const fbs::Postprocess* post = graph.postprocess();
  ferry_tensor logits;
  if (!post || post->task() != fbs::Task::Classification) {
    return error(FERRY_INVALID_ARGUMENT, "this model is no classifier: read its outputs with ferry_session_output()");
  }
  const ferry_status status = ferry_session_output(session, 0, &logits);
  if (status != FERRY_OK) return Status(status, ferry_last_error());
  const size_t n = logits.bytes / sizeof(float);
  if (logits.dtype != FERRY_FLOAT32 || logits.rank < 1 || n != static_cast<size_t>(logits.shape[logits.rank - 1])) {
    return error(FERRY_INVALID_ARGUMENT, "output %s holds more than one picture's logits", logits.name);
  }
  image::top_classes(static_cast<const float*>(logits.data), n, classes, room);
  *count = room < n ? room : n;
  const auto* labels = graph.labels();
  for (size_t i = 0; i < *count; ++i) {
    const auto index = static_cast<unsigned>(classes[i].index);
    classes[i].label = labels && index < labels->size() ? labels->Get(index)->c_str() : "";
  }
  return {};
}

// The picture as the C API knows it: RGB, though the network may have given grey.
Status to_rgb(image::Pixels pixels, ferry_image* out) {
  if (pixels.view().channels == 1) {
    image::Pixels rgb;
    const image::View gray = pixels.view();
    FERRY_TRY(rgb.allocate(gray.width, gray.height, 3));
    for (int y = 0; y < gray.height; ++y) {
      for (int x = 0; x < 3 * gray.width; ++x) rgb.row(y)[x] = gray.row(y)[x / 3];
    }
    pixels = static_cast<image::Pixels&&>(rgb);
  }
  give(static_cast<image::Pixels&&>(pixels), out);
  return {};
}

Status enhance(ferry_session* session, const ferry_image& picture, int32_t tile, ferry_image* out) {
  image::View view;
  FERRY_TRY(view_of(picture, &view));
  image::Pixels pixels;
  FERRY_TRY(image::enhance(session, session->idle().model().graph(), view, tile, {}, &pixels));
  return to_rgb(static_cast<image::Pixels&&>(pixels), out);
}

}  // namespace

extern "C" {

ferry_status ferry_image_load(const char* path, ferry_image* image) {
  FERRY_REQUIRE(image);
  *image = {};
  FERRY_REQUIRE(path);
  image::Pixels pixels;
  if (Status s = image::load(path, &pixels); !s.ok()) return report(s);
  give(static_cast<image::Pixels&&>(pixels), image);
  return FERRY_OK;
}

ferry_status ferry_image_decode(const void* data, size_t size, ferry_image* image) {
  FERRY_REQUIRE(image);
  *image = {};
  FERRY_REQUIRE(data);
  image::Pixels pixels;
  if (Status s = image::decode(data, size, "the data", &pixels); !s.ok()) return report(s);
  give(static_cast<image::Pixels&&>(pixels), image);
  return FERRY_OK;
}

ferry_status ferry_image_save_png(const ferry_image* image, const char* path) {
  FERRY_REQUIRE(image);
  FERRY_REQUIRE(path);
  image::View view;
  if (Status s = view_of(*image, &view); !s.ok()) return report(s);
  return report(image::save_png(view, path));
}

void ferry_image_free(ferry_image* image) {
  if (!image) return;
  if (image->owned) free(image->pixels);
  *image = {};
}

ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return report(set_image(session, *image));
}

ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes, size_t* count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(classes);
  FERRY_REQUIRE(count);
  return report(classify(session, classes, count));
}

ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image, int32_t tile, ferry_image* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return report(enhance(session, *image, tile, out));
}

}  // extern "C"
