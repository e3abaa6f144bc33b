// From places that a network gave back to the pixels of the picture, bilinearly.
#pragma once

#include <vector>

#include "sdk/task/picture.h"

namespace ferry::task {

// One axis: a pixel's value is first * (1 - weight) + next * weight, between cells that share the network's extent
// evenly. Beyond the first and the last cell their values go on.
struct Sample {
  int first = 0, next = 0;
  float weight = 0;
};

class Sampler {
 public:
  // `grid` covers what the network saw, `extent` of its pixels; the picture has width x height pixels, of which
  // `geometry` says where they were seen.
  Sampler(const Grid& grid, const Extent& extent, const image::Geometry& geometry, int width, int height);

  // The grid's values at row `y` of the picture, for each column of the grid and channel; valid until the next call.
  const float* row(int y);
  // Where column `x` of the picture lies in such a row.
  const Sample& column(int x) const { return columns_[static_cast<size_t>(x)]; }
  // Where the columns' first cell changes: ascending, the last is the picture's width.
  const std::vector<int>& borders() const { return borders_; }
  // One channel at pixel `x` of a row that row() gave.
  float at(const float* row, int x, int channel = 0) const {
    const Sample& s = column(x);
    const float a = row[int64_t{s.first} * grid_.channels + channel];
    const float b = row[int64_t{s.next} * grid_.channels + channel];
    return a + (b - a) * s.weight;
  }

 private:
  Grid grid_;
  std::vector<Sample> rows_, columns_;
  std::vector<int> borders_;
  std::vector<float> row_;
};

}  // namespace ferry::task
