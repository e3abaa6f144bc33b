#include "converter/detect/anchors.h"

#include <algorithm>

#include "converter/error.h"

namespace ferry::detect {
namespace {

using Sizes = std::vector<std::array<double, 2>>;

int cells(int side, int stride, bool rounded_up) { return (side + (rounded_up ? stride - 1 : 0)) / stride; }

size_t count_of(const DetectorSpec& spec, size_t level) {
  return spec.anchors.sizes.empty() ? static_cast<size_t>(spec.anchors.per_cell) : spec.anchors.sizes[level].size();
}

int64_t count_rows(const DetectorSpec& spec, int height, int width, bool rounded_up) {
  int64_t rows = 0;
  for (size_t level = 0; level < spec.strides.size(); ++level) {
    const int stride = spec.strides[level];
    rows += int64_t{cells(height, stride, rounded_up)} * cells(width, stride, rounded_up) *
            static_cast<int64_t>(count_of(spec, level));
  }
  return rows;
}

// Default offset of a cell's anchor: the centre, or for box encodings with a sigmoid, the top left corner.
double cell_of(const DetectorSpec& spec) {
  const bool sigmoid = spec.boxes.form == Form::SigmoidExp || spec.boxes.form == Form::SigmoidSquare;
  return spec.anchors.cell.value_or(sigmoid ? 0 : 0.5);
}

class Level {
 public:
  Level(const DetectorSpec& spec, size_t index, int height, int width, bool rounded_up)
      : spec_(spec),
        index_(index),
        height_(height),
        width_(width),
        stride_(spec.strides[index]),
        rows_(cells(height, stride_, rounded_up)),
        columns_(cells(width, stride_, rounded_up)) {}

  void append(std::vector<Anchor>* out) const {
    const size_t count = count_of(spec_, index_), outer = spec_.anchors.first ? count : 1;
    for (size_t a = 0; a < outer; ++a)
      for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column)
          for (size_t b = 0; b < count / outer; ++b) out->push_back(anchor(row, column, a + b));
  }

 private:
  Anchor anchor(int row, int column, size_t which) const {
    const Anchors& anchors = spec_.anchors;
    const double stride = stride_, cell = anchors.offset ? *anchors.offset / stride : cell_of(spec_);
    Anchor a;
    a.step_x = stride / width_;
    a.step_y = stride / height_;
    a.x = anchors.even ? (column + cell) / columns_ : (column + cell) * a.step_x;
    a.y = anchors.even ? (row + cell) / rows_ : (row + cell) * a.step_y;
    a.width = anchors.sizes.empty() ? a.step_x : anchors.sizes[index_][which][0] / width_;
    a.height = anchors.sizes.empty() ? a.step_y : anchors.sizes[index_][which][1] / height_;
    if (anchors.clip) {
      a.width = std::min(a.width, 1.0);
      a.height = std::min(a.height, 1.0);
    }
    return a;
  }

  const DetectorSpec& spec_;
  size_t index_;
  int height_, width_, stride_, rows_, columns_;
};

}  // namespace

std::vector<int> anchors_per_position(const DetectorSpec& spec) {
  if (spec.anchors.sizes.empty()) return {spec.anchors.per_cell};
  std::vector<int> counts;
  for (const Sizes& level : spec.anchors.sizes) counts.push_back(static_cast<int>(level.size()));
  return counts;
}

std::vector<Anchor> make_anchors(const DetectorSpec& spec, int height, int width, int rows) {
  std::vector<Anchor> out;
  if (!spec.anchors.boxes.empty()) {
    for (const auto& [x, y, w, h] : spec.anchors.boxes) out.push_back({x, y, w, h, w, h});
    if (out.size() != static_cast<size_t>(rows))
      fail("%s: anchors: %zu boxes for %d rows", spec.name.c_str(), out.size(), rows);
    return out;
  }
  if (spec.strides.empty()) fail("%s: strides are missing: boxes of this form start from anchors", spec.name.c_str());
  const int64_t up = count_rows(spec, height, width, true), down = count_rows(spec, height, width, false);
  if (rows != up && rows != down)
    fail("%s: boxes: the outputs have %d rows, but the strides and anchors make %lld of an image of %dx%d",
         spec.name.c_str(), rows, static_cast<long long>(up), height, width);
  for (size_t level = 0; level < spec.strides.size(); ++level)
    Level(spec, level, height, width, rows == up).append(&out);
  return out;
}

}  // namespace ferry::detect
