// Bilinear interpolation from a network's output grid to the pixels of the image.
#pragma once

#include <vector>

#include "sdk/task/image.h"
#include "sdk/threads/loops.h"

namespace ferry::task {

// One axis: a pixel's value is first * (1 - weight) + next * weight. Cells divide the network's extent evenly; beyond
// the first and the last cell, their values are repeated.
struct Sample {
  int first = 0, next = 0;
  float weight = 0;
};

class Sampler {
 public:
  // `grid` covers the network's input of `extent` pixels. The image has width x height pixels, which `geometry` maps to
  // input coordinates.
  Sampler(const Grid& grid, const Extent& extent, const image::Geometry& geometry, int width, int height);

  // Calls body(y, row, thread) for rows [begin, end) of the image on the pool's threads, numbered below
  // Pool::threads(). `row` has the interpolated values for each column of the grid and each channel. Bodies must not
  // allocate.
  template <typename Body>
  void for_each_row(Pool& pool, int begin, int end, const Body& body) {
    make_room(pool.threads());
    const ferry::Grid<1, 1> bands{{static_cast<size_t>(end - begin)}, {kBand}};
    parallel(&pool, bands, [&](Pool::Share& share, size_t first, size_t count) {
      for (int y = begin + static_cast<int>(first); count > 0; ++y, --count)
        body(y, row(y, share.thread()), share.thread());
    });
  }

  // Interpolation of column `x` in such a row.
  const Sample& column(int x) const { return columns_[static_cast<size_t>(x)]; }
  // The columns at which the first cell changes, ascending; the last is the image's width.
  const std::vector<int>& borders() const { return borders_; }
  // Interpolated value of one channel at pixel `x`.
  float at(const float* row, int x, int channel = 0) const {
    const Sample& s = column(x);
    const float a = row[int64_t{s.first} * grid_.channels + channel];
    const float b = row[int64_t{s.next} * grid_.channels + channel];
    return a + (b - a) * s.weight;
  }

 private:
  static constexpr size_t kBand = 16;  // rows per step of a thread

  void make_room(size_t threads) { mixed_.resize(threads * row_size()); }
  size_t row_size() const { return static_cast<size_t>(grid_.width) * static_cast<size_t>(grid_.channels); }
  const float* row(int y, size_t thread);

  Grid grid_;
  std::vector<Sample> rows_, columns_;
  std::vector<int> borders_;
  std::vector<float> mixed_;  // two rows of the grid, mixed; per thread
};

}  // namespace ferry::task
