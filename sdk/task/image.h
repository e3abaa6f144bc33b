// Runs a network on an image.
#pragma once

#include "sdk/task/classify.h"
#include "sdk/task/task.h"

namespace ferry::task {

// Channels of a colour image.
inline constexpr int kChannels = 3;

// Preprocesses the frame into input 0; resizes the session if necessary. The intake's plan then maps the frame's
// locations to input coordinates. FERRY_INVALID_ARGUMENT: the model has no preprocessing, or another kind of input.
// `index`: of a batch, whose shape is kept.
Status set_image(Session& session, const image::Frame& frame, image::Intake* intake, size_t index = kOnly);

// Rows and columns of patches for an image of that size. FERRY_INVALID_ARGUMENT: the preprocessing makes no patches, or
// the image's sides or proportions are out of range.
Status patches_of(const Model& model, int32_t width, int32_t height, int32_t* rows, int32_t* columns);

// Row of output 0 for one image: logits or an embedding. `index`: of a batch, or kOnly. `what`: for messages.
// FERRY_INVALID_ARGUMENT: there is no such image, or no result.
Status answer_row(const Session& session, size_t index, const char* what, std::span<const float>* row);

// Output 0, [1,H,W,C], or [1,H,W] with one channel, as a grid of cells over the input image.
struct Grid {
  const float* data = nullptr;
  int height = 0, width = 0, channels = 0;
};
Status output_grid(const Session& session, Grid* grid);

// set_image(), a run, and the output.
Status run_image(Networks& networks, const image::Frame& frame, Grid* grid);

// Height and width of input 0: the range of input coordinates.
struct Extent {
  int height = 0, width = 0;
};
Extent input_extent(const Session& session);

}  // namespace ferry::task
