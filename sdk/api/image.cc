// The C API of image.h.
#include <ferry/image.h>

#include <cstring>

#include "sdk/api/handles.h"
#include "sdk/image/classify.h"
#include "sdk/image/codec.h"
#include "sdk/image/enhance.h"
#include "sdk/image/preprocess.h"

namespace {

using ferry::error;
using ferry::guarded;
using ferry::Session;
using ferry::Shape;
using ferry::Status;
using ferry::TensorId;
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

Status set_image(Session& session, const ferry_image& picture) {
  const fbs::Graph& graph = session.model().graph();
  const fbs::Preprocess* recipe = graph.preprocess();
  if (!recipe) {
    return error(FERRY_INVALID_ARGUMENT,
                 "this model has no recipe for pictures: write its input with ferry_session_input()");
  }
  image::View view;
  FERRY_TRY(view_of(picture, &view));
  const fbs::Port& port = *graph.inputs()->Get(0);
  const TensorId input = port.tensor();
  const Shape present = session.shape(input);
  const int channels = recipe->color() == fbs::ColorOrder::Gray ? 1 : 3;
  const int patch = recipe->patch(), patch_numbers = channels * patch * patch * recipe->patch_frames();
  const bool picture_like = patch > 0 ? present.rank == 2 && channels == 3 && present[1] == patch_numbers
                                      : present.rank == 4 && present[0] == 1 && present[3] == channels;
  if (!picture_like || session.model().tensor(input).dtype() != fbs::DType::Float32) {
    return error(FERRY_INVALID_ARGUMENT,
                 "input %s takes no picture of %d channels: write it with ferry_session_input()", port.name()->c_str(),
                 channels);
  }
  image::Prepared prepared;
  FERRY_TRY(image::prepare(*recipe, view, &prepared));
  Shape shape = {1, prepared.height, prepared.width, channels};
  if (patch > 0) shape = {(prepared.height / patch) * (prepared.width / patch), patch_numbers};
  if (shape != present) FERRY_TRY(session.resize(0, shape));
  return image::normalize(*recipe, prepared, static_cast<float*>(session.data(input)));
}

// Output 0 as one picture's row of numbers: logits or an embedding.
Status answer_row(const Session& session, const char* what, const float** values, size_t* n) {
  const fbs::Port& port = *session.model().graph().outputs()->Get(0);
  const TensorId output = port.tensor();
  const Shape& shape = session.shape(output);
  *values = static_cast<const float*>(session.data(output));
  *n = static_cast<size_t>(shape.elements());
  const bool floats = session.model().tensor(output).dtype() == fbs::DType::Float32;
  if (!floats || shape.rank < 1 || shape.elements() != shape[shape.rank - 1]) {
    return error(FERRY_INVALID_ARGUMENT, "output %s holds more than one picture's %s", port.name()->c_str(), what);
  }
  return {};
}

Status classify(const Session& session, ferry_class* classes, size_t* count) {
  const size_t room = *count;
  *count = 0;
  const fbs::Graph& graph = session.model().graph();
  const fbs::Postprocess* post = graph.postprocess();
  const fbs::Task task = post ? post->task() : fbs::Task::Tensors;
  if (task != fbs::Task::Classification && task != fbs::Task::MultiLabel) {
    return error(FERRY_INVALID_ARGUMENT, "this model is no classifier: read its outputs with ferry_session_output()");
  }
  const float* logits = nullptr;
  size_t n = 0;
  FERRY_TRY(answer_row(session, "logits", &logits, &n));
  const auto kind = task == fbs::Task::MultiLabel ? image::Classes::Independent : image::Classes::Exclusive;
  image::top_classes(logits, n, kind, classes, room);
  *count = room < n ? room : n;
  const auto* labels = graph.labels();
  for (size_t i = 0; i < *count; ++i) {
    const auto index = static_cast<unsigned>(classes[i].index);
    classes[i].label = labels && index < labels->size() ? labels->Get(index)->c_str() : "";
  }
  return {};
}

Status embed(const Session& session, float* embedding, size_t* count) {
  const size_t room = *count;
  *count = 0;
  const fbs::Postprocess* post = session.model().graph().postprocess();
  if (!post || post->task() != fbs::Task::Embedding) {
    return error(FERRY_INVALID_ARGUMENT, "this model gives no embedding: read its outputs with ferry_session_output()");
  }
  const float* values = nullptr;
  FERRY_TRY(answer_row(session, "embedding", &values, count));
  if (!embedding) return {};
  if (room < *count) {
    return error(FERRY_INVALID_ARGUMENT, "room for %zu numbers, the embedding has %zu", room, *count);
  }
  if (post->unit_length()) {
    image::unit_length(values, *count, embedding);
  } else {
    memcpy(embedding, values, *count * sizeof(float));
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

Status enhance(Session& session, const ferry_image& picture, int32_t tile, ferry_image* out) {
  image::View view;
  FERRY_TRY(view_of(picture, &view));
  image::Pixels pixels;
  FERRY_TRY(image::enhance(session, view, tile, {}, &pixels));
  return to_rgb(static_cast<image::Pixels&&>(pixels), out);
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
    give(static_cast<image::Pixels&&>(pixels), image);
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
    give(static_cast<image::Pixels&&>(pixels), image);
    return {};
  });
}

ferry_status ferry_image_save_png(const ferry_image* image, const char* path) {
  FERRY_REQUIRE(image);
  FERRY_REQUIRE(path);
  return guarded([&]() -> Status {
    image::View view;
    FERRY_TRY(view_of(*image, &view));
    return image::save_png(view, path);
  });
}

void ferry_image_free(ferry_image* image) {
  if (!image) return;
  if (image->owned) free(image->pixels);
  *image = {};
}

ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return guarded([&] { return set_image(session->idle(), *image); });
}

ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes, size_t* count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(classes);
  FERRY_REQUIRE(count);
  return guarded([&] { return classify(session->idle(), classes, count); });
}

ferry_status ferry_session_embedding(ferry_session* session, float* embedding, size_t* count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(count);
  return guarded([&] { return embed(session->idle(), embedding, count); });
}

ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image, int32_t tile, ferry_image* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(image);
  return guarded([&] { return enhance(session->idle(), *image, tile, out); });
}

}  // extern "C"
