#include "sdk/task/image.h"

namespace ferry::task {

Status set_image(Session& session, const image::Frame& frame, image::Intake* intake, size_t index) {
  const fbs::Graph& graph = session.model().graph();
  const fbs::Preprocess* recipe = graph.preprocess();
  if (!recipe) {
    return error(FERRY_INVALID_ARGUMENT,
                 "this model has no recipe for images: write its input with ferry_session_input()");
  }
  const fbs::Port& port = *graph.inputs()->Get(0);
  const TensorId input = port.tensor();
  const Shape present = session.shape(input);
  const int channels = recipe->color() == fbs::ColorOrder::Gray ? 1 : 3;
  const int patch = recipe->patch(), patch_numbers = channels * patch * patch * recipe->patch_frames();
  const bool image_like = patch > 0 ? present.rank == 2 && channels == 3 && present[1] == patch_numbers
                                    : present.rank == 4 && present[3] == channels;
  if (!image_like || session.model().tensor(input).dtype() != fbs::DType::Float32) {
    return error(FERRY_INVALID_ARGUMENT, "input %s is not an image of %d channels: write it with ferry_session_input()",
                 port.name()->c_str(), channels);
  }
  const int batch = patch > 0 ? 1 : present[0];
  if (index == kOnly ? batch != 1 : index >= static_cast<size_t>(batch) || patch > 0) {
    return error(FERRY_INVALID_ARGUMENT, "input %s takes %d image(s): call ferry_session_set_image%s()",
                 port.name()->c_str(), batch, batch > 1 ? "_at" : "");
  }
  FERRY_TRY(intake->prepare(*recipe, frame));
  const image::Plan& plan = intake->plan();
  Shape shape = {batch, plan.seen_height, plan.seen_width, channels};
  if (patch > 0) shape = {(plan.seen_height / patch) * (plan.seen_width / patch), patch_numbers};
  if (shape != present) {
    if (index != kOnly && batch > 1) {
      return error(FERRY_SHAPE_MISMATCH, "an image of %dx%d pixels in a batch of %dx%d", plan.seen_width,
                   plan.seen_height, present[2], present[1]);
    }
    FERRY_TRY(session.resize(0, shape));
  }
#if FERRY_GPU
  if (frame.memory != nullptr) {
    if (batch > 1) return error(FERRY_UNSUPPORTED, "a frame in a GPU's memory in a batch of %d images", batch);
    return session.computing().take_frame(input, frame, intake->conversion());
  }
  FERRY_TRY(session.computing().leave_frame(input));
#endif
  const size_t place = index == kOnly ? 0 : index * static_cast<size_t>(shape.elements() / batch);
  intake->write(static_cast<float*>(session.data(input)) + place);
  return {};
}

Status patches_of(const Model& model, int32_t width, int32_t height, int32_t* rows, int32_t* columns) {
  const fbs::Preprocess* recipe = model.graph().preprocess();
  if (!recipe || recipe->patch() == 0)
    return error(FERRY_INVALID_ARGUMENT, "this model's preprocessing makes no patches");
  if (width < 1 || height < 1 || width > image::kMaxSide || height > image::kMaxSide)
    return error(FERRY_INVALID_ARGUMENT, "an image of %dx%d pixels: sides must be 1 to %d", width, height,
                 image::kMaxSide);
  int to_width = 0, to_height = 0;
  FERRY_TRY(image::resized(*recipe, width, height, &to_width, &to_height));
  if (recipe->crop_h() > 0 && recipe->crop_w() > 0) to_width = recipe->crop_w(), to_height = recipe->crop_h();
  *rows = to_height / recipe->patch();
  *columns = to_width / recipe->patch();
  return {};
}

Status answer_row(const Session& session, size_t index, const char* what, std::span<const float>* row) {
  const fbs::Port& port = *session.model().graph().outputs()->Get(0);
  const TensorId output = port.tensor();
  const Shape& shape = session.shape(output);
  const bool floats = session.model().tensor(output).dtype() == fbs::DType::Float32;
  const size_t numbers = shape.rank > 0 ? static_cast<size_t>(shape[shape.rank - 1]) : 0;
  const size_t images = numbers > 0 ? static_cast<size_t>(shape.elements()) / numbers : 0;
  if (!session.answered()) return error(FERRY_INVALID_ARGUMENT, "call ferry_session_run() first");
  if (!floats || (index == kOnly ? images != 1 : index >= images || images != static_cast<size_t>(shape[0]))) {
    return error(FERRY_INVALID_ARGUMENT, "output %s holds %s of %zu images: name one with ..._at()",
                 port.name()->c_str(), what, images);
  }
  *row = {static_cast<const float*>(session.data(output)) + (index == kOnly ? 0 : index * numbers), numbers};
  return {};
}

Status output_grid(const Session& session, Grid* grid) {
  const fbs::Port& port = *session.model().graph().outputs()->Get(0);
  const TensorId output = port.tensor();
  const Shape& shape = session.shape(output);
  const bool floats = session.model().tensor(output).dtype() == fbs::DType::Float32;
  if (!floats || (shape.rank != 3 && shape.rank != 4) || shape[0] != 1) {
    return error(FERRY_SHAPE_MISMATCH, "output %s is not a map of one image", port.name()->c_str());
  }
  *grid = {static_cast<const float*>(session.data(output)), shape[1], shape[2], shape.rank == 4 ? shape[3] : 1};
  return {};
}

Status run_image(Networks& networks, const image::Frame& frame, Grid* grid) {
  FERRY_TRY(set_image(networks.session, frame, &networks.intake));
  FERRY_TRY(networks.session.run());
  return output_grid(networks.session, grid);
}

Extent input_extent(const Session& session) {
  const Shape& shape = session.shape(session.model().graph().inputs()->Get(0)->tensor());
  return {shape[1], shape[2]};
}

}  // namespace ferry::task
