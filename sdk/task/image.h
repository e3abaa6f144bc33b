// From an image to what the network gave for it.
#pragma once

#include "sdk/task/classify.h"
#include "sdk/task/task.h"

namespace ferry::task {

// Of an image in colour.
inline constexpr int kChannels = 3;

// The frame into input 0 by the blob's recipe, for which the session may be resized. The intake's plan then says where
// the network sees the frame's places. FERRY_INVALID_ARGUMENT: the model has no recipe, or another input.
// `index`: its place in a batch, which keeps its shape.
Status set_image(Session& session, const image::Frame& frame, image::Intake* intake, size_t index = kOnly);

// How many rows and columns of patches the recipe cuts an image of that size into. FERRY_INVALID_ARGUMENT: it cuts
// none, or the image's sides or proportions are beyond it.
Status patches_of(const Model& model, int32_t width, int32_t height, int32_t* rows, int32_t* columns);

// Output 0 as an image's row of numbers: logits or an embedding. `index`: of a batch, or kOnly. `what`: for messages.
// FERRY_INVALID_ARGUMENT: there is no such image, or no run gave anything.
Status answer_row(const Session& session, size_t index, const char* what, std::span<const float>* row);

// Output 0, [1,H,W,C] or of one channel [1,H,W], as places of an image.
struct Grid {
  const float* data = nullptr;
  int height = 0, width = 0, channels = 0;
};
Status output_grid(const Session& session, Grid* grid);

// Both, with the run between.
Status run_image(Networks& networks, const image::Frame& frame, Grid* grid);

// Input 0's height and width: what a Geometry's places lie in.
struct Extent {
  int height = 0, width = 0;
};
Extent input_extent(const Session& session);

}  // namespace ferry::task
