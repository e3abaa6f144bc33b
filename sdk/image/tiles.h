// Cuts one axis of a large image into tiles for a network whose outputs depend on `halo` pixels to each side.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ferry::image {

struct Tile {
  int begin;       // first input pixel; there are TileAxis::extent() of them
  int keep_begin;  // the half-open range of the image that this tile computes; may be empty
  int keep_end;
};

// All tiles have equal size, so that a session is planned once. Every kept pixel has `halo` real neighbours on both
// sides, or all up to the image's border. Tiles at a border end exactly there, so that the network pads as on the whole
// image. Kept ranges are contiguous and do not overlap. With a `multiple`, which length must be a multiple of, all
// values here are multiples of it.
class TileAxis {
 public:
  // length, tile, multiple >= 1, halo >= 0. `tile` limits the pixels that a tile keeps. Exceptions: a single tile may
  // cover tile + 2 * halo, and a tile keeps at least `multiple`.
  TileAxis(int length, int tile, int halo, int multiple = 1)
      : multiple_(multiple), length_(length / multiple), halo_((halo + multiple - 1) / multiple) {
    const int64_t kept = std::max(tile / multiple, 1);
    const int64_t overlap = 2 * int64_t{halo_};
    if (length_ <= kept + overlap) {
      count_ = 1;
      extent_ = length_;
      return;
    }
    const int64_t n = (length_ - overlap + kept - 1) / kept;
    count_ = static_cast<int>(n);
    // The minimum equal tiles that cover the image.
    extent_ = static_cast<int>((length_ + (n - 1) * overlap + n - 1) / n);
  }

  int count() const { return count_; }
  int extent() const { return extent_ * multiple_; }

  Tile at(int i) const {
    const int begin = begin_of(i);
    const int keep_begin = i == 0 ? 0 : begin + halo_, keep_end = i == count_ - 1 ? length_ : begin_of(i + 1) + halo_;
    return {begin * multiple_, keep_begin * multiple_, keep_end * multiple_};
  }

 private:
  int begin_of(int i) const {
    const int64_t regular = int64_t{i} * (extent_ - 2 * halo_);
    const int last = length_ - extent_;
    return regular < last && i < count_ - 1 ? static_cast<int>(regular) : last;
  }

  int multiple_;
  int length_, halo_;  // in units of multiple_
  int count_ = 1;
  int extent_ = 1;
};

}  // namespace ferry::image
