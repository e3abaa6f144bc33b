// The C API of image.h.
#include <ferry/image.h>

#include "sdk/api/frame.h"
#include "sdk/api/handles.h"
#include "sdk/api/view.h"
#include "sdk/image/codec.h"
#include "sdk/image/enhance.h"
#include "sdk/task/classify.h"
#include "sdk/task/image.h"

namespace {

using ferry::guarded;
using ferry::Session;
using ferry::Status;
namespace image = ferry::image;

Status enhance(Session& session, const ferry_image& image, int32_t tile, ferry_image* out) {
  image::View view;
  FERRY_TRY(ferry::view_of(image, &view));
  image::Pixels pixels;
  const ferry::Session::Runs runs(session);
  FERRY_TRY(image::enhance(session, view, tile, {}, &pixels));
  image::Pixels rgb;
  FERRY_TRY(image::to_rgb(static_cast<image::Pixels&&>(pixels), &rgb));
  ferry::give(static_cast<image::Pixels&&>(rgb), out);
  return {};
}

}  // namespace

extern "C" {

ferry_status ferry_image_load(const char* path, ferry_image* image) {
  FERRY_REQUIRE(image);
  *image = {};
  FERRY_REQUIRE(path);
  return guarded([&]() -> Status {
    image::Pixels pixels;
    FERRY_TRY(image::load(path, &pixels));
    ferry::give(static_cast<image::Pixels&&>(pixels), image);
    return {};
  });
}

ferry_status ferry_image_decode(const void* data, size_t size, ferry_image* image) {
  FERRY_REQUIRE(image);
  *image = {};
  FERRY_REQUIRE(data);
  return guarded([&]() -> Status {
    image::Pixels pixels;
    FERRY_TRY(image::decode(data, size, "the data", &pixels));
    ferry::give(static_cast<image::Pixels&&>(pixels), image);
    return {};
  });
}

ferry_status ferry_image_save_png(const ferry_image* image, const char* path) {
  FERRY_REQUIRE(image);
  FERRY_REQUIRE(path);
  return guarded([&]() -> Status {
    image::View view;
    FERRY_TRY(ferry::view_of(*image, &view));
    return image::save_png(view, path);
  });
}

void ferry_image_free(ferry_image* image) {
  if (!image) return;
  if (image->owned) free(image->pixels);
  *image = {};
}

ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image) {
  return ferry_session_set_image_at(session, ferry::task::kOnly, image);
}

ferry_status ferry_session_set_image_at(ferry_session* session, size_t index, const ferry_image* image) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return guarded([&]() -> Status {
    image::View view;
    FERRY_TRY(ferry::view_of(*image, &view));
    return ferry::task::set_image(session->idle(), image::frame_of(view), &session->intake, index);
  });
}

ferry_status ferry_frame_size(const ferry_frame* frame, int32_t* width, int32_t* height) {
  FERRY_REQUIRE(width);
  FERRY_REQUIRE(height);
  *width = *height = 0;
  FERRY_REQUIRE(frame);
  return guarded([&]() -> Status {
    image::Frame read;
    FERRY_TRY(ferry::read_frame(*frame, &read));
    *width = read.seen_width();
    *height = read.seen_height();
    return {};
  });
}

ferry_status ferry_session_set_frame(ferry_session* session, const ferry_frame* frame) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(frame);
  return guarded([&]() -> Status {
    image::Frame read;
    FERRY_TRY(ferry::read_frame(*frame, &read));
    return ferry::task::set_image(session->idle(), read, &session->intake);
  });
}

ferry_status ferry_model_image_patches(const ferry_model* model, int32_t width, int32_t height, int32_t* rows,
                                       int32_t* columns) {
  FERRY_REQUIRE(rows);
  FERRY_REQUIRE(columns);
  *rows = *columns = 0;
  FERRY_REQUIRE(model);
  return guarded([&] { return ferry::task::patches_of(*model->model, width, height, rows, columns); });
}

ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes, size_t* count) {
  return ferry_session_top_classes_at(session, ferry::task::kOnly, classes, count);
}

ferry_status ferry_session_top_classes_at(ferry_session* session, size_t index, ferry_class* classes, size_t* count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(classes);
  FERRY_REQUIRE(count);
  return guarded([&] { return ferry::task::top_classes(session->idle(), index, classes, count); });
}

ferry_status ferry_session_embedding(ferry_session* session, float* embedding, size_t* count) {
  return ferry_session_embedding_at(session, ferry::task::kOnly, embedding, count);
}

ferry_status ferry_session_embedding_at(ferry_session* session, size_t index, float* embedding, size_t* count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(count);
  return guarded([&] { return ferry::task::embedding(session->idle(), index, embedding, count); });
}

ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image, int32_t tile, ferry_image* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return guarded([&] { return enhance(session->idle(), *image, tile, out); });
}

}  // extern "C"
