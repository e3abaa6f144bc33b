#include "sdk/task/sampler.h"

#include <algorithm>
#include <cmath>

namespace ferry::task {
namespace {

std::vector<Sample> samples(int pixels, double scale, double shift, int extent, int cells) {
  std::vector<Sample> out(static_cast<size_t>(pixels));
  const double cells_a_pixel = static_cast<double>(cells) / extent;
  for (int i = 0; i < pixels; ++i) {
    const double seen = (i + 0.5) * scale + shift;
    const double place = std::clamp(seen * cells_a_pixel - 0.5, 0.0, cells - 1.0);
    const int first = static_cast<int>(place);
    out[static_cast<size_t>(i)] = {first, std::min(first + 1, cells - 1), static_cast<float>(place - first)};
  }
  return out;
}

}  // namespace

Sampler::Sampler(const Grid& grid, const Extent& extent, const image::Geometry& geometry, int width, int height)
    : grid_(grid),
      rows_(samples(height, geometry.scale_y, geometry.shift_y, extent.height, grid.height)),
      columns_(samples(width, geometry.scale_x, geometry.shift_x, extent.width, grid.width)) {
  for (int x = 1; x < width; ++x)
    if (column(x).first != column(x - 1).first) borders_.push_back(x);
  borders_.push_back(width);
}

const float* Sampler::row(int y, size_t thread) {
  const Sample& s = rows_[static_cast<size_t>(y)];
  const size_t size = row_size();
  const float* first = grid_.data + static_cast<size_t>(s.first) * size;
  const float* next = grid_.data + static_cast<size_t>(s.next) * size;
  if (s.weight == 0) return first;
  float* mixed = mixed_.data() + thread * size;
  for (size_t i = 0; i < size; ++i) mixed[i] = first[i] + (next[i] - first[i]) * s.weight;
  return mixed;
}

}  // namespace ferry::task
