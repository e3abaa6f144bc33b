#include <algorithm>
#include <cstdint>

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
    *workspace = uint64_t{sizeof(int32_t)} * lists_ * (boxes_ + 1);
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
    for (size_t i = 0; i < lists_; ++i) lists_memory_[i * (boxes_ + 1)] = 0;  // a cancelled run keeps none
    parallel_for(pool, lists_, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) keep(*pool, i);
    });
    int32_t* row = output_;
    for (size_t i = 0; i < lists_; ++i) {
      const int32_t* list = lists_memory_ + i * (boxes_ + 1);
      for (int32_t k = 1; k <= list[0]; ++k, row += 3) {
        row[0] = static_cast<int32_t>(i / classes_);
        row[1] = static_cast<int32_t>(i % classes_);
        row[2] = list[k];
      }
    }
    std::fill(row, output_ + 3 * rows_, -1);
    return {};
  }

 private:
  // A list: the number of kept boxes, then their indices, best first.
  void keep(const Pool& pool, size_t index) {
    int32_t* list = lists_memory_ + index * (boxes_ + 1);
    int32_t* boxes = list + 1;
    const float* scores = scores_ + index * boxes_;
    const auto box = [&](int32_t i) {
      return box_at(corners_ + (index / classes_ * boxes_ + static_cast<size_t>(i)) * 4, params_.centers());
    };
    int32_t count = 0, kept = 0;
    for (size_t i = 0; i < boxes_; ++i)
      if (scores[i] > params_.score_threshold()) boxes[count++] = static_cast<int32_t>(i);
    std::sort(boxes, boxes + count,
              [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    for (int32_t i = 0; i < count && kept < params_.max_boxes() && !pool.cancelled(); ++i) {
      const Box candidate = box(boxes[i]);
      const bool hidden = std::any_of(boxes, boxes + kept,
                                      [&](int32_t k) { return overlap(box(k), candidate, params_.iou_threshold()); });
      if (!hidden) boxes[kept++] = boxes[i];
    }
    list[0] = kept;
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
