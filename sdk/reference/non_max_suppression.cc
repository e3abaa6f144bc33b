#include <algorithm>
#include <array>
#include <numeric>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return std::max(bottom - top, 0.0) * std::max(right - left, 0.0); }
};

Box box_at(const double* b, bool centers) {
  if (centers) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

double overlap(const Box& a, const Box& b) {
  const Box common{std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom),
                   std::min(a.right, b.right)};
  const double both = common.area(), all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

}  // namespace

void non_max_suppression(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::NonMaxSuppression& p = *op.params_as_NonMaxSuppression();
  const Shape& scores = inputs[1]->shape;
  const size_t boxes = static_cast<size_t>(scores[2]);
  std::fill(output.values.begin(), output.values.end(), -1.0);
  size_t rows = 0;
  for (int n = 0; n < scores[0]; ++n) {
    for (int c = 0; c < scores[1]; ++c) {
      const double* score = inputs[1]->values.data() + static_cast<size_t>(n * scores[1] + c) * boxes;
      const auto box = [&](size_t i) {
        return box_at(inputs[0]->values.data() + (static_cast<size_t>(n) * boxes + i) * 4, p.centers());
      };
      std::vector<size_t> order(boxes), kept;
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score[a] > score[b]; });
      for (const size_t i : order) {
        if (kept.size() == static_cast<size_t>(p.max_boxes()) || !(score[i] > static_cast<double>(p.score_threshold())))
          break;
        if (std::any_of(kept.begin(), kept.end(),
                        [&](size_t k) { return overlap(box(k), box(i)) > static_cast<double>(p.iou_threshold()); }))
          continue;
        kept.push_back(i);
        const std::array row{static_cast<double>(n), static_cast<double>(c), static_cast<double>(i)};
        std::copy(row.begin(), row.end(), output.values.begin() + static_cast<std::ptrdiff_t>(3 * rows++));
      }
    }
  }
}

}  // namespace ferry::reference
