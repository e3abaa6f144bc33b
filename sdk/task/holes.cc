#include "sdk/task/holes.h"

#include <algorithm>

namespace ferry::task {
namespace {

// The mask in coarse cells. Cells with covered pixels are connected to their eight neighbours.
class Cells {
 public:
  Cells(const image::View& mask, int side)
      : columns_((mask.width + side - 1) / side), rows_((mask.height + side - 1) / side) {
    areas_.resize(static_cast<size_t>(columns_) * static_cast<size_t>(rows_));
    for (int y = 0; y < mask.height; ++y) {
      for (int x = 0; x < mask.width; ++x) {
        if (covered(mask, x, y)) include(&at(x / side, y / side), {x, y, x + 1, y + 1});
      }
    }
  }

  std::vector<Area> joined() {
    std::vector<Area> holes;
    std::vector<std::pair<int, int>> open;
    for (int row = 0; row < rows_; ++row) {
      for (int column = 0; column < columns_; ++column) {
        if (at(column, row).width() == 0) continue;
        Area hole;
        open = {{column, row}};
        while (!open.empty()) {
          const auto [x, y] = open.back();
          open.pop_back();
          Area& cell = at(x, y);
          if (cell.width() == 0) continue;
          include(&hole, cell);
          cell = {};
          for (int v = std::max(y - 1, 0); v <= std::min(y + 1, rows_ - 1); ++v) {
            for (int u = std::max(x - 1, 0); u <= std::min(x + 1, columns_ - 1); ++u) {
              if (at(u, v).width() != 0) open.push_back({u, v});
            }
          }
        }
        holes.push_back(hole);
      }
    }
    return holes;
  }

 private:
  Area& at(int column, int row) {
    return areas_[static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column)];
  }

  static void include(Area* area, const Area& part) {
    if (area->width() == 0) {
      *area = part;
      return;
    }
    *area = {std::min(area->left, part.left), std::min(area->top, part.top), std::max(area->right, part.right),
             std::max(area->bottom, part.bottom)};
  }

  int columns_, rows_;
  std::vector<Area> areas_;  // bounding box of covered pixels per cell; empty if there are none
};

// Extends [begin, end) by `length` pixels to both sides, within [0, limit).
void widen(int begin, int end, int length, int limit, int* from, int* to) {
  length = std::min(length, limit);
  *from = std::clamp(begin - (length - (end - begin)) / 2, 0, limit - length);
  *to = *from + length;
}

}  // namespace

std::vector<Area> find_holes(const image::View& mask, int distance) {
  return Cells(mask, std::max(distance, 1)).joined();
}

Area surroundings(const Area& hole, int side, int width, int height) {
  const int length = std::max(2 * std::max(hole.width(), hole.height()), side);
  Area area;
  widen(hole.left, hole.right, length, width, &area.left, &area.right);
  widen(hole.top, hole.bottom, length, height, &area.top, &area.bottom);
  return area;
}

}  // namespace ferry::task
