#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

// An integer that orders like the element: NaN above all, both zeros equal.
int64_t order_of(float value) {
  if (value != value) return INT64_MAX;
  const int32_t bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? -int64_t{bits & INT32_MAX} : bits;
}
int64_t order_of(int32_t value) { return value; }

template <typename T>
struct Better {
  const T* x;
  bool smallest, later;
  bool operator()(int32_t a, int32_t b) const {
    const int64_t left = order_of(x[a]), right = order_of(x[b]);
    if (left != right) return (left > right) != smallest;
    return later ? a > b : a < b;
  }
};

class TopK : public Op {
 public:
  TopK(const fbs::TopK& params, bool integers) : params_(params), integers_(integers) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    row_ = static_cast<size_t>(inputs[0][inputs[0].rank - 1]);
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    // The maximum is found in one pass; more elements need an index array of the row.
    *workspace = params_.k() == 1 ? 0 : uint64_t{sizeof(int32_t)} * rows_ * row_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    return setup_outputs(inputs, {&output, 1}, workspace);
  }

  Status setup_outputs(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace) override {
    input_ = inputs[0];
    output_ = static_cast<int32_t*>(outputs[0]);
    values_ = outputs.size() > 1 ? outputs[1] : nullptr;
    order_ = static_cast<int32_t*>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    parallel_rows(pool, rows_, row_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (integers_) {
          row(static_cast<const int32_t*>(input_), i);
        } else {
          row(static_cast<const float*>(input_), i);
        }
      }
    });
    return {};
  }

 private:
  template <typename T>
  void row(const T* x, size_t index) {
    const Better<T> better{x + index * row_, params_.smallest(), params_.later()};
    const size_t k = static_cast<size_t>(params_.k());
    int32_t* out = output_ + index * k;
    if (k == 1) {
      *out = 0;
      for (int32_t i = 1; i < static_cast<int32_t>(row_); ++i)
        if (better(i, *out)) *out = i;
    } else if (!divide(better.x, out)) {
      int32_t* order = order_ + index * row_;
      std::iota(order, order + row_, 0);
      if (k <= row_ / 8) {  // the heap of partial_sort rejects most elements at once
        std::partial_sort(order, order + k, order + row_, better);
      } else {
        if (k < row_) std::nth_element(order, order + k, order + row_, better);
        std::sort(order, order + k, better);
      }
      std::copy_n(order, k, out);
    }
    if (values_ == nullptr) return;
    for (size_t i = 0; i < k; ++i) static_cast<T*>(values_)[index * k + i] = better.x[out[i]];
  }

  // Conditions, in long rows, are 0 or 1: those of one value precede those of the other. False for other values.
  bool divide(const int32_t* x, int32_t* out) const {
    const auto [low, high] = std::minmax_element(x, x + row_);
    if (int64_t{*high} - *low > 1) return false;
    const int32_t values[] = {params_.smallest() ? *low : *high, params_.smallest() ? *high : *low};
    const size_t k = static_cast<size_t>(params_.k());
    size_t count = 0;
    for (const int32_t value : values) {
      for (size_t i = 0; i < row_ && count < k; ++i) {
        const size_t at = params_.later() ? row_ - 1 - i : i;
        if (x[at] == value) out[count++] = static_cast<int32_t>(at);
      }
    }
    return true;
  }
  bool divide(const float*, int32_t*) const { return false; }

  const fbs::TopK& params_;
  bool integers_;
  size_t rows_ = 0, row_ = 0;
  const void* input_ = nullptr;
  void* values_ = nullptr;  // null if no operator reads it
  int32_t *output_ = nullptr, *order_ = nullptr;
};

}  // namespace

Status create_top_k(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const bool integers = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<TopK>(*op.params_as_TopK(), integers);
  return {};
}

}  // namespace ferry::cpu
