#include "sdk/task/lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::task {
namespace {

// Minimum shorter side in cells, before and after growing, as in PaddleOCR.
constexpr float kMinimumSide = 3, kMinimumGrownSide = 5;
// PaddleOCR rotates lines that are taller than wide by this factor.
constexpr float kLong = 1.5f;

float cross(const Vector& a, const Vector& b) { return a.x * b.y - a.y * b.x; }
float dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y; }
Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y}; }
Vector operator*(const Vector& a, float b) { return {a.x * b, a.y * b}; }

// Finds connected regions.
class Regions {
 public:
  Regions(const Grid& map, float threshold) : map_(map), open_(cells()) {
    for (size_t i = 0; i < open_.size(); ++i) open_[i] = map.data[i] > threshold;
    ends_.resize(static_cast<size_t>(map.height));
  }

  size_t cells() const { return static_cast<size_t>(map_.height) * static_cast<size_t>(map_.width); }
  bool open(size_t cell) const { return open_[cell] != 0; }

  // The convex hull of the cells' centres in the 8-connected region of `cell`. The region's cells are marked as
  // visited.
  std::vector<Vector> take(size_t cell) {
    const int width = map_.width;
    int top = map_.height, bottom = -1;
    const auto add = [&](int x, int y) {
      open_[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] = 0;
      Ends& row = ends_[static_cast<size_t>(y)];
      row = y < top || y > bottom ? Ends{x, x} : Ends{std::min(row.left, x), std::max(row.right, x)};
      top = std::min(top, y);
      bottom = std::max(bottom, y);
      border_.push_back({x, y});
    };
    add(static_cast<int>(cell % static_cast<size_t>(width)), static_cast<int>(cell / static_cast<size_t>(width)));
    while (!border_.empty()) {
      const Cell at = border_.back();
      border_.pop_back();
      for (int y = std::max(at.y - 1, 0); y <= std::min(at.y + 1, map_.height - 1); ++y) {
        for (int x = std::max(at.x - 1, 0); x <= std::min(at.x + 1, width - 1); ++x) {
          if (open(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x))) add(x, y);
        }
      }
    }
    return hull(top, bottom);
  }

 private:
  struct Cell {
    int x, y;
  };
  struct Ends {
    int left = 0, right = 0;
  };

  // Andrew's monotone chain: down the right ends of the rows, up their left ends.
  std::vector<Vector> hull(int top, int bottom) const {
    std::vector<Vector> out;
    const auto add = [&out](int x, int y, size_t first) {
      const Vector p = {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
      while (out.size() >= first + 2 && !(cross(out.back() - out[out.size() - 2], p - out.back()) > 0)) out.pop_back();
      out.push_back(p);
    };
    for (int y = top; y <= bottom; ++y) add(ends_[static_cast<size_t>(y)].right, y, 0);
    const size_t first = out.size();
    for (int y = bottom; y >= top; --y) add(ends_[static_cast<size_t>(y)].left, y, first);
    return out;
  }

  const Grid& map_;
  std::vector<uint8_t> open_;
  std::vector<Ends> ends_;  // left and right end of each row of the current region
  std::vector<Cell> border_;
};

// The minimum-area rectangle around a hull; one of its sides is parallel to one of the hull's.
LineBox smallest_rectangle(const std::vector<Vector>& hull) {
  LineBox best;
  constexpr float kFar = std::numeric_limits<float>::infinity();
  float minimum = kFar;
  for (size_t i = 0; i < hull.size(); ++i) {
    const Vector side = hull[(i + 1) % hull.size()] - hull[i];
    const float length = side.length();
    if (!(length > 0)) continue;
    const Vector u = side * (1 / length), v = {-u.y, u.x};
    Vector from = {kFar, kFar}, to = {-kFar, -kFar};
    for (const Vector& p : hull) {
      const float a = dot(p, u), b = dot(p, v);
      from = {std::min(from.x, a), std::min(from.y, b)};
      to = {std::max(to.x, a), std::max(to.y, b)};
    }
    const Vector size = to - from;
    if (!(size.x * size.y < minimum)) continue;
    minimum = size.x * size.y;
    const float a = (from.x + to.x) / 2, b = (from.y + to.y) / 2;
    // Cells extend half a cell beyond their centres.
    best = {{a * u.x + b * v.x, a * u.y + b * v.y}, u * (size.x / 2 + 0.5f), v * (size.y / 2 + 0.5f)};
  }
  return best;
}

// Mean over cells whose centres are in the box.
float mean_within(const Grid& map, const LineBox& box) {
  const float along = dot(box.along, box.along), down = dot(box.down, box.down);
  const float reach_x = std::fabs(box.along.x) + std::fabs(box.down.x);
  const float reach_y = std::fabs(box.along.y) + std::fabs(box.down.y);
  const int left = std::max(static_cast<int>(box.centre.x - reach_x) - 1, 0);
  const int right = std::min(static_cast<int>(box.centre.x + reach_x) + 1, map.width - 1);
  const int bottom = std::min(static_cast<int>(box.centre.y + reach_y) + 1, map.height - 1);
  double sum = 0;
  int count = 0;
  for (int y = std::max(static_cast<int>(box.centre.y - reach_y) - 1, 0); y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const Vector to = Vector{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f} - box.centre;
      if (std::fabs(dot(to, box.along)) > along || std::fabs(dot(to, box.down)) > down) continue;
      sum += map.data[int64_t{y} * map.width + x];
      ++count;
    }
  }
  return static_cast<float>(sum / count);
}

float half_height(const LineBox& box) { return std::fabs(box.along.y) + std::fabs(box.down.y); }

void sort(LineBox* begin, const LineBox* end, float Vector::*place) {
  for (LineBox* at = begin; at < end; ++at) {
    for (LineBox* to = at; to > begin && to->centre.*place < to[-1].centre.*place; --to) std::swap(to[0], to[-1]);
  }
}

}  // namespace

float Vector::length() const { return std::sqrt(x * x + y * y); }

Vector LineBox::corner(int i) const {
  const float a = i == 1 || i == 2 ? 1.0f : -1.0f, b = i >= 2 ? 1.0f : -1.0f;
  return {centre.x + a * along.x + b * down.x, centre.y + a * along.y + b * down.y};
}

void LineBox::turn() {
  const Vector former = along;
  along = down;
  down = former * -1.0f;
}

std::vector<LineBox> find_lines(const Grid& map, const fbs::Ocr& params) {
  std::vector<LineBox> found;
  Regions regions(map, params.threshold());
  for (size_t cell = 0; cell < regions.cells() && found.size() < kMaxLines; ++cell) {
    if (!regions.open(cell)) continue;
    LineBox box = smallest_rectangle(regions.take(cell));
    const float along = box.along.length(), down = box.down.length();
    if (!(2 * std::min(along, down) >= kMinimumSide) || !(mean_within(map, box) >= params.box_threshold())) continue;
    // Area / perimeter; `along` and `down` are half the sides.
    const float more = params.unclip() * along * down / (along + down);
    if (!(2 * (std::min(along, down) + more) >= kMinimumGrownSide)) continue;
    box.along = box.along * ((along + more) / along);
    box.down = box.down * ((down + more) / down);
    found.push_back(box);
  }
  return found;
}

void turn_upright(LineBox* box) {
  const float a = box->along.length(), b = box->down.length();
  const bool line = std::max(a, b) >= kLong * std::min(a, b);
  if (line ? a < b : std::fabs(box->along.x) < std::fabs(box->down.x)) box->turn();
  const Vector &along = box->along, &down = box->down;
  const bool upright = line && std::fabs(along.x) < std::fabs(down.x);
  if ((upright ? along.y : along.x) < 0) {
    box->turn();
    box->turn();
  }
}

void sort_as_read(std::vector<LineBox>* boxes) {
  LineBox *at = boxes->data(), *end = at + boxes->size();
  sort(at, end, &Vector::y);
  while (at < end) {
    LineBox* row = at;
    // Boxes are in one row if their centres differ vertically by at most half the height of the lower box.
    while (at < end && at->centre.y - row->centre.y <= std::min(half_height(*at), half_height(*row))) ++at;
    sort(row, at, &Vector::x);
  }
}

}  // namespace ferry::task
