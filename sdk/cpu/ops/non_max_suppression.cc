#include <algorithm>
#include <cstdint>
#include <limits>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return std::max(bottom - top, 0.0f) * std::max(right - left, 0.0f); }
};

Box box_at(const float* b, bool centers) {
  if (centers) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const Box common{std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom),
                   std::min(a.right, b.right)};
  const float both = common.area(), all = a.area() + b.area() - both;
  return all > 0 && both > threshold * all;
}

// Kept boxes by their top edges, in bands as high as the highest box: a box overlaps only boxes of its own band and of
// the two beside it. Networks that move the boxes of each class to a place of their own have many bands.
class Bands {
 public:
  static constexpr int kCount = 256;

  // `next`: the memory of one element for each box.
  explicit Bands(int32_t* next) : next_(next) { std::fill(first_, first_ + kCount, -1); }

  // Once for every box that may be added, before the first one is.
  void cover(const Box& box) {
    low_ = std::min(low_, box.top);
    high_ = std::max(high_, box.top);
    height_ = std::max(height_, box.bottom - box.top);
  }
  void add(const Box& box, int32_t index) {
    int32_t& first = first_[band(box)];
    next_[index] = first;
    first = index;
  }
  template <typename Function>
  bool any_near(const Box& box, Function function) const {
    const int at = band(box);
    for (int k = std::max(at - 1, 0); k <= std::min(at + 1, kCount - 1); ++k)
      for (int32_t i = first_[k]; i >= 0; i = next_[i])
        if (function(i)) return true;
    return false;
  }

 private:
  // Rounding must not separate boxes that overlap, so bands are a little higher. Coordinates that are no numbers, or
  // infinite, have one band.
  int band(const Box& box) const {
    const float height = std::max(height_ * 1.01f, (high_ - low_) / (kCount - 1));
    const float at = (box.top - low_) / height;
    return at >= 0 && at < kCount ? static_cast<int>(at) : 0;
  }

  int32_t* next_;
  int32_t first_[kCount];
  float low_ = std::numeric_limits<float>::max(), high_ = std::numeric_limits<float>::lowest(), height_ = 0;
};

// A task suppresses the boxes of one class of a sample and stores the kept ones in the workspace. Then the output rows
// are written in order.
class NonMaxSuppression : public Op {
 public:
  explicit NonMaxSuppression(const fbs::NonMaxSuppression& params) : params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    const Shape& scores = inputs[1];
    classes_ = static_cast<size_t>(scores[1]);
    lists_ = static_cast<size_t>(scores[0]) * classes_;
    boxes_ = static_cast<size_t>(scores[2]);
    rows_ = static_cast<size_t>(output[0]);
    *workspace = uint64_t{sizeof(int32_t)} * lists_ * (2 * boxes_ + 1);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    corners_ = floats(inputs[0]);
    scores_ = floats(inputs[1]);
    output_ = static_cast<int32_t*>(output);
    lists_memory_ = static_cast<int32_t*>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    for (size_t i = 0; i < lists_; ++i) *list(i) = 0;  // a cancelled run keeps none
    parallel_for(pool, lists_, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) keep(*pool, i);
    });
    int32_t* row = output_;
    for (size_t i = 0; i < lists_; ++i) {
      const int32_t* kept = list(i);
      for (int32_t k = 1; k <= kept[0]; ++k, row += 3) {
        row[0] = static_cast<int32_t>(i / classes_);
        row[1] = static_cast<int32_t>(i % classes_);
        row[2] = kept[k];
      }
    }
    std::fill(row, output_ + 3 * rows_, -1);
    return {};
  }

 private:
  // The number of kept boxes, their indices, best first, and the memory of the bands.
  int32_t* list(size_t index) const { return lists_memory_ + index * (2 * boxes_ + 1); }

  void keep(const Pool& pool, size_t index) {
    int32_t* boxes = list(index) + 1;
    const float* scores = scores_ + index * boxes_;
    const auto box = [&](int32_t i) {
      return box_at(corners_ + (index / classes_ * boxes_ + static_cast<size_t>(i)) * 4, params_.centers());
    };
    int32_t count = 0, kept = 0;
    for (size_t i = 0; i < boxes_; ++i)
      if (scores[i] > params_.score_threshold()) boxes[count++] = static_cast<int32_t>(i);
    std::sort(boxes, boxes + count,
              [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    Bands bands(boxes + boxes_);
    for (int32_t i = 0; i < count; ++i) bands.cover(box(boxes[i]));
    for (int32_t i = 0; i < count && kept < params_.max_boxes() && !pool.cancelled(); ++i) {
      const Box candidate = box(boxes[i]);
      const bool hidden =
          bands.any_near(candidate, [&](int32_t k) { return overlap(box(k), candidate, params_.iou_threshold()); });
      if (hidden) continue;
      bands.add(candidate, boxes[i]);
      boxes[kept++] = boxes[i];
    }
    *list(index) = kept;
  }

  const fbs::NonMaxSuppression& params_;
  size_t lists_ = 0, classes_ = 0, boxes_ = 0, rows_ = 0;
  const float *corners_ = nullptr, *scores_ = nullptr;
  int32_t *output_ = nullptr, *lists_memory_ = nullptr;
};

}  // namespace

Status create_non_max_suppression(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<NonMaxSuppression>(*op.params_as_NonMaxSuppression());
  return {};
}

}  // namespace ferry::cpu
