#include <cmath>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

constexpr size_t kLanes = 64;  // partial sums: several vectors, so that additions do not wait for each other

[[gnu::always_inline]] inline float total(float* sums) {
#pragma GCC unroll 6
  for (size_t step = kLanes / 2; step > 0; step /= 2) {
#pragma GCC unroll 32
    for (size_t k = 0; k < step; ++k) sums[k] += sums[k + step];
  }
  return sums[0];
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias. The variance is of deviations from the mean, never a difference
// of large numbers. Not centered, the mean counts as 0.
FERRY_KERNEL void normalize(const float* x, const float* weight, const float* bias, size_t count, float epsilon,
                            bool centered, float* y) {
  float sums[kLanes] = {};
  size_t i = centered ? 0 : count;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) sums[k] += x[i + k];
  }
  for (; i < count; ++i) sums[i % kLanes] += x[i];
  const float mean = total(sums) / static_cast<float>(count);

  float squares[kLanes] = {};
  for (i = 0; i + kLanes <= count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) squares[k] += (x[i + k] - mean) * (x[i + k] - mean);
  }
  for (; i < count; ++i) squares[i % kLanes] += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / std::sqrt(total(squares) / static_cast<float>(count) + epsilon);

  FERRY_INDEPENDENT
  for (i = 0; i < count; ++i) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

class LayerNorm : public Op {
 public:
  explicit LayerNorm(const fbs::LayerNorm& params) : epsilon_(params.epsilon()), centered_(params.centered()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    channels_ = static_cast<size_t>(x[x.rank - 1]);
    rows_ = elements(x, 0, x.rank - 1);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    parallel_rows(pool, rows_, channels_, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row)
        normalize(inputs_[0] + row * channels_, inputs_[1], inputs_[2], channels_, epsilon_, centered_,
                  output_ + row * channels_);
    });
    return {};
  }

 private:
  float epsilon_;
  bool centered_;
  size_t rows_ = 0, channels_ = 0;
  std::array<const float*, 3> inputs_{};
  float* output_ = nullptr;
};

}  // namespace

Status create_layer_norm(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<LayerNorm>(*op.params_as_LayerNorm());
  return {};
}

}  // namespace ferry::cpu
