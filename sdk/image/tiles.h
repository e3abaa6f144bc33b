// How one axis of a large picture is cut into tiles for a network that sees `halo` pixels to each side.
#pragma once

#include <cstdint>

namespace ferry::image {

struct Tile {
  int begin;       // first pixel that the network gets; it gets TileAxis::extent() of them
  int keep_begin;  // the pixels whose results this tile gives: a half-open range of the picture, perhaps empty
  int keep_end;
};

// All tiles get equally many pixels, so that a session is planned once. Every kept pixel has `halo` real neighbours to
// both sides or all there are up to the picture's border, and tiles at a border end exactly there: the network's own
// padding does what it would do on the whole picture. The kept ranges follow each other without gap or overlap.
class TileAxis {
 public:
  // length, tile >= 1, halo >= 0. `tile` bounds the pixels that a tile keeps (but one tile takes all that fits in
  // tile + 2 * halo).
  TileAxis(int length, int tile, int halo) : length_(length), halo_(halo) {
    const int64_t whole = int64_t{tile} + 2 * int64_t{halo};
    if (length <= whole) {
      count_ = 1;
      extent_ = length;
      return;
    }
    const int64_t n = (length - 2 * int64_t{halo} + tile - 1) / tile;
    count_ = static_cast<int>(n);
    // The smallest equal tiles that still cover the picture.
    extent_ = static_cast<int>((length + (n - 1) * 2 * halo + n - 1) / n);
  }

  int count() const { return count_; }
  int extent() const { return extent_; }

  Tile at(int i) const {
    const int begin = begin_of(i);
    return {begin, i == 0 ? 0 : begin + halo_, i == count_ - 1 ? length_ : begin_of(i + 1) + halo_};
  }

 private:
  int begin_of(int i) const {
    const int64_t regular = int64_t{i} * (extent_ - 2 * halo_);
    const int last = length_ - extent_;
    return regular < last && i < count_ - 1 ? static_cast<int>(regular) : last;
  }

  int length_;
  int halo_;
  int count_ = 1;
  int extent_ = 1;
};

}  // namespace ferry::image
