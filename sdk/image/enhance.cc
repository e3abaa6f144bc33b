#include "sdk/image/enhance.h"

#include <cmath>

#include "sdk/image/preprocess.h"
#include "sdk/image/tiles.h"

namespace ferry::image {
namespace {

Status checked(ferry_status status) { return status == FERRY_OK ? Status() : Status(status, ferry_last_error()); }

// Makes the session's input [1,height,width,channels]; replans only where it is not yet.
Status fit_input(ferry_session* session, int height, int width, int channels, ferry_tensor* input) {
  FERRY_TRY(checked(ferry_session_input(session, 0, input)));
  if (input->rank == 4 && input->shape[0] == 1 && input->shape[1] == height && input->shape[2] == width) return {};
  const int32_t shape[4] = {1, height, width, channels};
  FERRY_TRY(checked(ferry_session_resize(session, 0, shape, 4)));
  return checked(ferry_session_input(session, 0, input));
}

// Plans the session for tiles of *side. Where that is the library's own choice, the side is halved until the plan is
// within kArenaGoal and the session's own limit.
Status plan_tiles(ferry_session* session, const View& picture, int halo, bool automatic, int* side,
                  ferry_tensor* input) {
  while (true) {
    const int height = TileAxis(picture.height, *side, halo).extent();
    const int width = TileAxis(picture.width, *side, halo).extent();
    const Status planned = fit_input(session, height, width, picture.channels, input);
    const bool too_large = planned.ok() ? ferry_session_arena_bytes(session) > kArenaGoal
                                        : planned.code() == FERRY_MEMORY_LIMIT || planned.code() == FERRY_OUT_OF_MEMORY;
    if (!automatic || !too_large || *side / 2 < kLeastTile) return planned;
    *side /= 2;
  }
}

uint8_t to_level(float value) {
  value *= 255.0f;
  if (!(value > 0.0f)) return 0;  // NaN too
  return value >= 255.0f ? 255 : static_cast<uint8_t>(std::lrintf(value));
}

// The kept part of one tile's output [1,H,W,channels] into the picture. `scale` output pixels an input pixel.
void place(const fbs::Postprocess& recipe, const ferry_tensor& output, const Tile& rows, const Tile& columns, int scale,
           Pixels* out) {
  const int channels = output.shape[3];
  const int64_t row_length = int64_t{output.shape[2]} * channels;
  float mean[4] = {0, 0, 0, 0}, std[4] = {1, 1, 1, 1};
  for (unsigned c = 0; c < static_cast<unsigned>(channels); ++c) {
    if (recipe.mean() && c < recipe.mean()->size()) mean[c] = recipe.mean()->Get(c);
    if (recipe.std() && c < recipe.std()->size()) std[c] = recipe.std()->Get(c);
  }
  const int width = (columns.keep_end - columns.keep_begin) * scale;
  for (int y = rows.keep_begin * scale; y < rows.keep_end * scale; ++y) {
    const float* from = static_cast<const float*>(output.data) + (y - rows.begin * scale) * row_length +
                        int64_t{columns.keep_begin - columns.begin} * scale * channels;
    uint8_t* to = out->row(y) + int64_t{columns.keep_begin} * scale * channels;
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) *to++ = to_level(*from++ * std[c] + mean[c]);
    }
  }
}

}  // namespace

Status enhance(ferry_session* session, const fbs::Graph& graph, const View& picture, int tile, const Progress& progress,
               Pixels* out) {
  const fbs::Postprocess* post = graph.postprocess();
  const fbs::Preprocess* pre = graph.preprocess();
  if (!post || post->task() != fbs::Task::ImageToImage || !pre || pre->resize_mode() != fbs::ResizeMode::None ||
      pre->crop_h() > 0) {
    return error(FERRY_INVALID_ARGUMENT, "this model does not make a picture from a picture of any size");
  }
  if (tile < 0) return error(FERRY_INVALID_ARGUMENT, "a tile of %d pixels: must be 0 (automatic) or more", tile);
  const int scale = post->upscale(), halo = post->halo();
  if (scale < 1 || halo < 0 || int64_t{picture.width} * scale > kMaxSide ||
      int64_t{picture.height} * scale > kMaxSide) {
    return error(FERRY_INVALID_ARGUMENT,
                 "a picture of %dx%d pixels enlarged %d times: sides of the result must be 1 to %d", picture.width,
                 picture.height, scale, kMaxSide);
  }

  Prepared prepared;  // grey where the recipe wants it; nothing moves
  FERRY_TRY(prepare(*pre, picture, &prepared));
  const View& source = prepared.view;
  ferry_tensor input, output;
  FERRY_TRY(checked(ferry_session_input(session, 0, &input)));
  if (input.rank != 4 || input.dtype != FERRY_FLOAT32 || input.shape[3] != source.channels) {
    return error(FERRY_INVALID_ARGUMENT, "input %s takes %d channels, a picture has %d", input.name,
                 input.rank == 4 ? input.shape[3] : 0, source.channels);
  }

  int side = tile == 0 ? kDefaultTile : tile;
  FERRY_TRY(plan_tiles(session, source, halo, tile == 0, &side, &input));
  const TileAxis rows(source.height, side, halo), columns(source.width, side, halo);
  FERRY_TRY(checked(ferry_session_output(session, 0, &output)));
  if (output.rank != 4 || output.dtype != FERRY_FLOAT32 || output.shape[1] != rows.extent() * scale ||
      output.shape[2] != columns.extent() * scale || (output.shape[3] != 1 && output.shape[3] != 3)) {
    return error(FERRY_SHAPE_MISMATCH, "output %s is no picture of %d times the input's size", output.name, scale);
  }
  FERRY_TRY(out->allocate(source.width * scale, source.height * scale, output.shape[3]));

  const int total = rows.count() * columns.count();
  for (int i = 0; i < total; ++i) {
    const Tile row = rows.at(i / columns.count()), column = columns.at(i % columns.count());
    if (row.keep_begin < row.keep_end && column.keep_begin < column.keep_end) {
      const View part = {source.row(row.begin) + int64_t{column.begin} * source.channels, columns.extent(),
                         rows.extent(), source.channels, source.stride};
      FERRY_TRY(normalize(*pre, {part, part.height, part.width}, static_cast<float*>(input.data)));
      FERRY_TRY(checked(ferry_session_run(session)));
      place(*post, output, row, column, scale, out);
    }
    if (progress.report) progress.report(progress.user, i + 1, total);
  }
  return {};
}

}  // namespace ferry::image
