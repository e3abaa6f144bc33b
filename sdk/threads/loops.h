// Loops over a pool, in as many dimensions as there are.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "sdk/threads/pool.h"

namespace ferry {

// Places of N dimensions, row by row; the last T are walked in tiles.
template <size_t N, size_t T>
struct Grid {
  std::array<size_t, N> range;
  std::array<size_t, T> tile{};

  size_t steps(size_t dim) const {
    return dim < N - T ? range[dim] : range[dim] / tile[dim - (N - T)] + (range[dim] % tile[dim - (N - T)] != 0);
  }
  size_t count() const {
    size_t product = 1;
    for (size_t dim = 0; dim < N; ++dim) product *= steps(dim);
    return product;
  }
};

// Where a thread stands in a grid. Most steps go to the next index, which costs no division.
template <size_t N, size_t T>
class Place {
 public:
  explicit Place(const Grid<N, T>& grid) : grid_(grid) {
    for (size_t dim = 0; dim < N; ++dim) steps_[dim] = grid.steps(dim);
  }

  void go_to(size_t index) {
    if (index != next_) {
      size_t rest = index;
      for (size_t dim = N; dim-- > 0; rest /= steps_[dim]) at_[dim] = rest % steps_[dim];
    } else {
      for (size_t dim = N; dim-- > 0 && ++at_[dim] == steps_[dim];) at_[dim] = 0;
    }
    next_ = index + 1;
  }

  // call(first of each dimension..., size of each tile...)
  template <typename Call>
  void at(const Call& call) const {
    at(call, std::make_index_sequence<N>(), std::make_index_sequence<T>());
  }

 private:
  template <typename Call, size_t... D, size_t... E>
  void at(const Call& call, std::index_sequence<D...>, std::index_sequence<E...>) const {
    call(first(D)..., size(E)...);
  }
  size_t first(size_t dim) const { return dim < N - T ? at_[dim] : at_[dim] * grid_.tile[dim - (N - T)]; }
  size_t size(size_t tiled) const {
    const size_t left = grid_.range[N - T + tiled] - first(N - T + tiled);
    return left < grid_.tile[tiled] ? left : grid_.tile[tiled];
  }

  const Grid<N, T>& grid_;
  std::array<size_t, N> steps_, at_{};
  size_t next_ = static_cast<size_t>(-1);
};

// body(share, first of each dimension..., size of each tile...) for each place of the grid; `pool` may be null.
template <size_t N, size_t T, typename Body>
void parallel(Pool* pool, const Grid<N, T>& grid, const Body& body) {
  struct Loop {
    const Grid<N, T>& grid;
    const Body& body;
  } loop{grid, body};
  const Pool::Body take_part = [](void* context, Pool::Share& share) {
    const Loop& own = *static_cast<const Loop*>(context);
    Place<N, T> place(own.grid);
    for (size_t index; share.next(&index);) {
      place.go_to(index);
      place.at([&](auto... at) { own.body(share, at...); });
    }
  };
  if (pool != nullptr) return pool->run(grid.count(), take_part, &loop);
  Pool::run_alone(grid.count(), take_part, &loop);
}

}  // namespace ferry
