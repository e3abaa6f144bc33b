#include "sdk/image/enhance.h"

#include <algorithm>
#include <cstring>

#include "sdk/image/levels.h"
#include "sdk/image/preprocess.h"
#include "sdk/image/tiles.h"
#include "sdk/operators/built_in.h"

namespace ferry::image {
namespace {

const char* name_of(const fbs::Port& port) { return port.name()->c_str(); }

bool is_float(const Session& session, TensorId tensor) {
  return session.model().tensor(tensor).dtype() == fbs::DType::Float32;
}

// Index of sample `i` in a row or column of `length`, reflected at both ends; end samples are not repeated.
int mirrored(int i, int length) {
  if (length == 1) return 0;
  const int period = 2 * (length - 1), at = i % period;
  return at < length ? at : period - at;
}

// An image whose sides are multiples of `multiple`: *image itself, or a copy in `pixels` that is padded by reflection
// at the right and bottom.
Status fill_up(int multiple, View* image, Pixels* pixels) {
  const auto rounded = [&](int side) { return (side + multiple - 1) / multiple * multiple; };
  const int width = rounded(image->width), height = rounded(image->height), channels = image->channels;
  if (width == image->width && height == image->height) return {};
  FERRY_TRY(pixels->allocate(width, height, channels));
  for (int y = 0; y < height; ++y) {
    const uint8_t* from = image->row(mirrored(y, image->height));
    uint8_t* to = pixels->row(y);
    std::memcpy(to, from, static_cast<size_t>(image->width) * static_cast<size_t>(channels));
    for (int x = image->width; x < width; ++x)
      for (int c = 0; c < channels; ++c) to[x * channels + c] = from[mirrored(x, image->width) * channels + c];
  }
  *image = pixels->view();
  return {};
}

// Plans the session for tiles of *side. If `automatic`, the side is halved until the plan fits kArenaGoal and the
// session's limit.
Status plan_tiles(Session& session, TensorId input, const View& image, const fbs::Postprocess& recipe, bool automatic,
                  int* side) {
  const int halo = recipe.halo(), multiple = recipe.multiple_of();
  while (true) {
    const Shape tile = {1, TileAxis(image.height, *side, halo, multiple).extent(),
                        TileAxis(image.width, *side, halo, multiple).extent(), image.channels};
    const Status planned = session.shape(input) == tile ? Status() : session.resize(0, tile);
    const bool too_large = planned.ok() ? session.arena_bytes() > kArenaGoal
                                        : planned.code() == FERRY_MEMORY_LIMIT || planned.code() == FERRY_OUT_OF_MEMORY;
    if (!automatic || !too_large || *side / 2 < kMinTile) return planned;
    *side /= 2;
  }
}

// Copies the kept part of one tile's output [1,H,W,channels] into the image, clipped to it. `scale`: output pixels per
// input pixel.
void place(const Levels& levels, const Shape& shape, const float* output, const Tile& rows, const Tile& columns,
           int scale, Pixels* out) {
  const int channels = shape[3];
  const int64_t row_length = int64_t{shape[2]} * channels;
  const View whole = out->view();
  const int width = std::min(columns.keep_end * scale, whole.width) - columns.keep_begin * scale;
  const int height = std::min(rows.keep_end * scale, whole.height);
  for (int y = rows.keep_begin * scale; y < height; ++y) {
    const float* from =
        output + (y - rows.begin * scale) * row_length + int64_t{columns.keep_begin - columns.begin} * scale * channels;
    uint8_t* to = out->row(y) + int64_t{columns.keep_begin} * scale * channels;
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) *to++ = levels.of(*from++, c);
    }
  }
}

}  // namespace

Status enhance(Session& session, const View& image, int tile, const Progress& progress, Pixels* out) {
  if (!built_in(fbs::Task::ImageToImage)) return left_out("image to image");
  const fbs::Graph& graph = session.model().graph();
  const fbs::Postprocess* post = graph.postprocess();
  const fbs::Preprocess* pre = graph.preprocess();
  if (!post || post->task() != fbs::Task::ImageToImage || !pre || pre->resize_mode() != fbs::ResizeMode::None ||
      pre->crop_h() > 0) {
    return error(FERRY_INVALID_ARGUMENT, "this model is not an image-to-image network for any size");
  }
  if (tile < 0) return error(FERRY_INVALID_ARGUMENT, "a tile of %d pixels: must be 0 (automatic) or more", tile);
  const int scale = post->upscale(), halo = post->halo(), multiple = post->multiple_of();
  if (scale < 1 || halo < 0 || multiple < 1 || int64_t{image.width} * scale > kMaxSide ||
      int64_t{image.height} * scale > kMaxSide) {
    return error(FERRY_INVALID_ARGUMENT,
                 "an image of %dx%d pixels upscaled %d times: sides of the result must be 1 to %d", image.width,
                 image.height, scale, kMaxSide);
  }

  Prepared prepared;  // converts to grey if the preprocessing does; no resize or crop
  FERRY_TRY(prepare(*pre, image, &prepared));
  View source = prepared.view;
  Pixels filled;
  FERRY_TRY(fill_up(multiple, &source, &filled));
  const fbs::Port &input_port = *graph.inputs()->Get(0), &output_port = *graph.outputs()->Get(0);
  const TensorId input = input_port.tensor(), output = output_port.tensor();
  const Shape before = session.shape(input);
  if (before.rank != 4 || !is_float(session, input) || before[3] != source.channels) {
    return error(FERRY_INVALID_ARGUMENT, "input %s takes %d channels, an image has %d", name_of(input_port),
                 before.rank == 4 ? before[3] : 0, source.channels);
  }

  int side = tile == 0 ? kDefaultTile : tile;
  FERRY_TRY(plan_tiles(session, input, source, *post, tile == 0, &side));
  const TileAxis rows(source.height, side, halo, multiple), columns(source.width, side, halo, multiple);
  const Shape large = session.shape(output);
  if (large.rank != 4 || !is_float(session, output) || large[1] != rows.extent() * scale ||
      large[2] != columns.extent() * scale || (large[3] != 1 && large[3] != 3)) {
    return error(FERRY_SHAPE_MISMATCH, "output %s is no image of %d times the input's size", name_of(output_port),
                 scale);
  }
  FERRY_TRY(out->allocate(prepared.view.width * scale, prepared.view.height * scale, large[3]));

  const Levels levels(*post);
  const int total = rows.count() * columns.count();
  for (int i = 0; i < total; ++i) {
    const Tile row = rows.at(i / columns.count()), column = columns.at(i % columns.count());
    if (row.keep_begin < row.keep_end && column.keep_begin < column.keep_end) {
      const View part = {source.row(row.begin) + int64_t{column.begin} * source.channels, columns.extent(),
                         rows.extent(), source.channels, source.stride};
      FERRY_TRY(normalize(*pre, {part, part.height, part.width}, static_cast<float*>(session.data(input))));
      FERRY_TRY(session.run());
      place(levels, large, static_cast<const float*>(session.data(output)), row, column, scale, out);
    }
    if (progress.report) progress.report(progress.user, i + 1, total);
  }
  return {};
}

}  // namespace ferry::image
