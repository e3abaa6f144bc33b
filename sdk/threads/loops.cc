#include "sdk/threads/loops.h"

#include <algorithm>

namespace ferry {
namespace {

struct Walk {
  const GridView& grid;
  PlaceBody call;
  const void* body;
  size_t steps[kMaximumDimensions];  // per dimension
};

// Most steps go to the next index, which needs no division.
void take_part(void* context, Pool::Share& share) {
  const Walk& walk = *static_cast<const Walk*>(context);
  const GridView& grid = walk.grid;
  const size_t whole = grid.dimensions - grid.tiled;
  size_t at[kMaximumDimensions] = {}, place[kMaximumDimensions + kMaximumTiled];
  size_t next = static_cast<size_t>(-1);
  for (size_t index; share.next(&index); next = index + 1) {
    if (index == next) {
      for (size_t dim = grid.dimensions; dim-- > 0 && ++at[dim] == walk.steps[dim];) at[dim] = 0;
    } else {
      size_t rest = index;
      for (size_t dim = grid.dimensions; dim-- > 0; rest /= walk.steps[dim]) at[dim] = rest % walk.steps[dim];
    }
    std::copy_n(at, grid.dimensions, place);
    for (size_t t = 0; t < grid.tiled; ++t) {
      place[whole + t] *= grid.tile[t];
      place[grid.dimensions + t] = std::min(grid.tile[t], grid.range[whole + t] - place[whole + t]);
    }
    walk.call(walk.body, share, place);
  }
}

}  // namespace

void for_each_place(Pool* pool, const GridView& grid, PlaceBody call, const void* body) {
  Walk walk{grid, call, body, {}};
  const size_t whole = grid.dimensions - grid.tiled;
  size_t count = 1;
  for (size_t dim = 0; dim < grid.dimensions; ++dim) {
    const size_t range = grid.range[dim], tile = dim < whole ? 1 : grid.tile[dim - whole];
    walk.steps[dim] = range / tile + (range % tile != 0);
    count *= walk.steps[dim];
  }
  if (pool != nullptr) return pool->run(count, take_part, &walk);
  Pool::run_alone(count, take_part, &walk);
}

}  // namespace ferry
