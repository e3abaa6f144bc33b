#include <algorithm>
#include <cmath>
#include <cstring>

#include "sdk/image/levels.h"
#include "sdk/task/holes.h"
#include "sdk/task/sampler.h"

namespace ferry::task {
namespace {

Status check_mask(const image::View& image, const image::View& mask) {
  if (mask.data == nullptr) {
    return error(FERRY_INVALID_ARGUMENT, "no mask: this model inpaints the pixels under a mask of the image's size");
  }
  if (mask.width == image.width && mask.height == image.height) return {};
  return error(FERRY_INVALID_ARGUMENT, "a mask of %dx%d pixels for an image of %dx%d: they must be of one size",
               mask.width, mask.height, image.width, image.height);
}

image::View part_of(const image::View& whole, const Area& area) {
  return {whole.row(area.top) + int64_t{area.left} * whole.channels, area.width(), area.height(), whole.channels,
          whole.stride};
}

// The range of positions on an axis to which a pixel contributes in a bilinear resize.
struct Reach {
  Reach(int pixel, double scale, double shift, int places) {
    const double center = (pixel + 0.5) * scale + shift, radius = scale == 1.0 ? 0.5 : std::max(1.0, scale);
    first = std::clamp(static_cast<int>(std::floor(center - radius - 0.5)) + 1, 0, places);
    last = std::clamp(static_cast<int>(std::ceil(center + radius - 0.5)) - 1, -1, places - 1);
  }
  int first, last;
};

// Inpaints the holes of an image one by one. `unknown` has one channel: 255 for unknown pixels.
class Painter {
 public:
  Painter(Networks& networks, image::Pixels& image, image::Pixels& unknown)
      : session_(networks.session), graph_(networks.graph()), image_(image), unknown_(unknown) {}

  // Inpaints the unknown pixels of `hole`; they then count as known.
  Status paint(const Area& hole) {
    const image::View whole = image_.view();
    const Extent extent = input_extent(session_);
    const Area area = surroundings(hole, std::max(extent.width, extent.height), whole.width, whole.height);
    image::Prepared seen;
    FERRY_TRY(image::prepare(*graph_.preprocess(), part_of(whole, area), &seen));
    const Shape wanted = {1, seen.height, seen.width, 1 + kChannels};
    if (session_.shape(input()) != wanted) FERRY_TRY(session_.resize(0, wanted));
    colours_.resize(static_cast<size_t>(seen.height) * static_cast<size_t>(seen.width) * kChannels);
    FERRY_TRY(image::normalize(*graph_.preprocess(), seen, colours_.data()));
    write_input(seen, part_of(unknown_.view(), area));
    FERRY_TRY(session_.run());
    return place(seen, area, hole);
  }

 private:
  TensorId input() const { return graph_.inputs()->Get(0)->tensor(); }

  // An input pixel is unknown if any unknown pixel contributes to it.
  void write_input(const image::Prepared& seen, const image::View& unknown) {
    const auto* params = graph_.postprocess()->params_as_Inpainting();
    const float known = params != nullptr ? params->known() : 1.0f, hole = params != nullptr ? params->hole() : 0.0f;
    cells_.assign(static_cast<size_t>(seen.height) * static_cast<size_t>(seen.width), 0);
    const image::Geometry& g = seen.geometry;
    for (int y = 0; y < unknown.height; ++y) {
      for (int x = 0; x < unknown.width; ++x) {
        if (!covered(unknown, x, y)) continue;
        const Reach rows(y, g.scale_y, g.shift_y, seen.height), columns(x, g.scale_x, g.shift_x, seen.width);
        for (int v = rows.first; v <= rows.last; ++v) {
          uint8_t* row = &cells_[static_cast<size_t>(v) * static_cast<size_t>(seen.width)];
          std::fill(row + columns.first, row + columns.last + 1, uint8_t{1});
        }
      }
    }
    float* to = static_cast<float*>(session_.data(input()));
    const float* from = colours_.data();
    for (const uint8_t cell : cells_) {
      *to++ = cell ? hole : known;
      for (int c = 0; c < kChannels; ++c, ++from) *to++ = cell ? 0.0f : *from;
    }
  }

  Status place(const image::Prepared& seen, const Area& area, const Area& hole) {
    Grid grid;
    FERRY_TRY(output_grid(session_, &grid));
    if (grid.channels != kChannels) {
      return error(FERRY_SHAPE_MISMATCH, "the output has %d channels, an image has %d", grid.channels, kChannels);
    }
    const image::Levels levels(*graph_.postprocess());
    Sampler sampler(grid, {seen.height, seen.width}, seen.geometry, area.width(), area.height());
    const int top = hole.top - area.top, bottom = hole.bottom - area.top;
    sampler.for_each_row(*session_.pool(), top, bottom, [&](int from, const float* row, size_t) {
      const int y = area.top + from;
      uint8_t* unknown = unknown_.row(y);
      for (int x = hole.left; x < hole.right; ++x) {
        if (unknown[x] == 0) continue;
        unknown[x] = 0;
        for (int c = 0; c < kChannels; ++c) {
          const float value = sampler.at(row, x - area.left, c);
          image_.row(y)[int64_t{x} * kChannels + c] = levels.of(value, c);
        }
      }
    });
    return {};
  }

  Session& session_;
  const fbs::Graph& graph_;
  image::Pixels &image_, &unknown_;
  std::vector<float> colours_;
  std::vector<uint8_t> cells_;
};

}  // namespace

Status inpaint(Networks& networks, const TaskRequest& request, Answer* answer) {
  const image::View &image = request.image, &mask = request.mask;
  FERRY_TRY(check_mask(image, mask));
  image::Pixels unknown;
  FERRY_TRY(answer->pixels.allocate(image.width, image.height, kChannels));
  FERRY_TRY(unknown.allocate(image.width, image.height, 1));
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(answer->pixels.row(y), image.row(y), static_cast<size_t>(image.width) * kChannels);
    for (int x = 0; x < image.width; ++x) unknown.row(y)[x] = covered(mask, x, y) ? 255 : 0;
  }
  const Extent extent = input_extent(networks.session);
  const std::vector<Area> holes = find_holes(mask, std::min(extent.width, extent.height) / 8);
  Painter painter(networks, answer->pixels, unknown);
  int done = 0;
  for (const Area& hole : holes) {
    FERRY_TRY(painter.paint(hole));
    const image::Progress& progress = request.progress;
    if (progress.report) progress.report(progress.user, ++done, static_cast<int>(holes.size()));
  }
  return {};
}

}  // namespace ferry::task
