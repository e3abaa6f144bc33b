// Parallel loops over a pool in any number of dimensions.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "sdk/threads/pool.h"

namespace ferry {

// N dimensions in row-major order; the last T are divided into tiles.
template <size_t N, size_t T>
struct Grid {
  std::array<size_t, N> range;
  std::array<size_t, T> tile{};
};

inline constexpr size_t kMaximumDimensions = 6, kMaximumTiled = 2;

// A grid whose sizes are stored elsewhere.
struct GridView {
  const size_t *range, *tile;
  size_t dimensions, tiled;
};
// `place`: the start in each dimension, then the size of each tile.
using PlaceBody = void (*)(const void* body, Pool::Share& share, const size_t* place);
// Calls `call` for each tile; `pool` may be null.
void for_each_place(Pool* pool, const GridView& grid, PlaceBody call, const void* body);

// Calls body(share, start of each dimension..., size of each tile...) for each tile of the grid; `pool` may be null.
template <size_t N, size_t T, typename Body>
void parallel(Pool* pool, const Grid<N, T>& grid, const Body& body) {
  static_assert(N <= kMaximumDimensions && T <= kMaximumTiled && T <= N);
  const PlaceBody call = [](const void* own, Pool::Share& share, const size_t* place) {
    [&]<size_t... I>(std::index_sequence<I...>) { (*static_cast<const Body*>(own))(share, place[I]...); }
    (std::make_index_sequence<N + T>());
  };
  for_each_place(pool, {grid.range.data(), grid.tile.data(), N, T}, call, &body);
}

}  // namespace ferry
