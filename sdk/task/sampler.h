// From places that a network gave back to the pixels of the image, bilinearly.
#pragma once

#include <vector>

#include "sdk/task/image.h"
#include "sdk/threads/loops.h"

namespace ferry::task {

// One axis: a pixel's value is first * (1 - weight) + next * weight, between cells that share the network's extent
// evenly. Beyond the first and the last cell their values go on.
struct Sample {
  int first = 0, next = 0;
  float weight = 0;
};

class Sampler {
 public:
  // `grid` covers what the network saw, `extent` of its pixels; the image has width x height pixels, of which
  // `geometry` says where they were seen.
  Sampler(const Grid& grid, const Extent& extent, const image::Geometry& geometry, int width, int height);

  // body(y, row, thread) for each of the image's rows from `begin` up to `end`, on the pool's threads, numbered below
  // Pool::threads(): `row` has the grid's values there, for each column of the grid and channel. Bodies allocate
  // nothing.
  template <typename Body>
  void for_each_row(Pool& pool, int begin, int end, const Body& body) {
    make_room(pool.threads());
    const ferry::Grid<1, 1> bands{{static_cast<size_t>(end - begin)}, {kBand}};
    parallel(&pool, bands, [&](Pool::Share& share, size_t first, size_t count) {
      for (int y = begin + static_cast<int>(first); count > 0; ++y, --count)
        body(y, row(y, share.thread()), share.thread());
    });
  }

  // Where column `x` of the image lies in such a row.
  const Sample& column(int x) const { return columns_[static_cast<size_t>(x)]; }
  // Where the columns' first cell changes: ascending, the last is the image's width.
  const std::vector<int>& borders() const { return borders_; }
  // One channel at pixel `x` of a row.
  float at(const float* row, int x, int channel = 0) const {
    const Sample& s = column(x);
    const float a = row[int64_t{s.first} * grid_.channels + channel];
    const float b = row[int64_t{s.next} * grid_.channels + channel];
    return a + (b - a) * s.weight;
  }

 private:
  static constexpr size_t kBand = 16;  // rows that a thread takes at once

  void make_room(size_t threads) { mixed_.resize(threads * row_size()); }
  size_t row_size() const { return static_cast<size_t>(grid_.width) * static_cast<size_t>(grid_.channels); }
  const float* row(int y, size_t thread);

  Grid grid_;
  std::vector<Sample> rows_, columns_;
  std::vector<int> borders_;
  std::vector<float> mixed_;  // of two of the grid's rows, for each thread
};

}  // namespace ferry::task
