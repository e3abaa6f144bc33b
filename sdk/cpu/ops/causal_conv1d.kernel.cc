#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/graph/states.h"

namespace ferry::cpu {
namespace {

FERRY_KERNEL void multiply(const float* x, const float* weight, size_t channels, float* y) {
  FERRY_INDEPENDENT
  for (size_t c = 0; c < channels; ++c) y[c] = x[c] * weight[c];
}

FERRY_KERNEL void multiply_and_add(const float* x, const float* weight, size_t channels, float* y) {
  FERRY_INDEPENDENT
  for (size_t c = 0; c < channels; ++c) y[c] += x[c] * weight[c];
}

class CausalConv1d : public Op {
 public:
  explicit CausalConv1d(uint32_t state) : state_(state) {}

  void set_states(const States& states) override { states_ = &states; }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& x, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    samples_ = static_cast<size_t>(x[0]);
    tokens_ = static_cast<size_t>(x[1]);
    channels_ = static_cast<size_t>(x[2]);
    past_ = static_cast<size_t>(inputs[1][0]) - 1;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    x_ = floats(inputs[0]);
    weight_ = floats(inputs[1]);
    bias_ = inputs.size() > 2 ? floats(inputs[2]) : nullptr;
    output_ = floats(output);
    return {};
  }

  Status run(Pool* pool) override {
    parallel_rows(pool, samples_ * tokens_, channels_ * (past_ + 1), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) convolve(row / tokens_, row % tokens_, output_ + row * channels_);
    });
    float* next = floats(states_->next(state_));
    for (size_t row = 0; row < samples_ * past_; ++row)
      std::memcpy(next + row * channels_, token(row / past_, tokens_ + row % past_), channels_ * sizeof(float));
    return {};
  }

 private:
  // Row of the sequence that consists of the state and x.
  const float* token(size_t sample, size_t place) const {
    if (place < past_) return floats(states_->data(state_)) + (sample * past_ + place) * channels_;
    return x_ + (sample * tokens_ + place - past_) * channels_;
  }

  void convolve(size_t sample, size_t place, float* y) const {
    if (bias_ != nullptr) std::memcpy(y, bias_, channels_ * sizeof(float));
    for (size_t k = 0; k <= past_; ++k) {
      const auto kernel = k == 0 && bias_ == nullptr ? multiply : multiply_and_add;
      kernel(token(sample, place + k), weight_ + k * channels_, channels_, y);
    }
  }

  uint32_t state_;
  const States* states_ = nullptr;
  size_t samples_ = 0, tokens_ = 0, channels_ = 0, past_ = 0;
  const float *x_ = nullptr, *weight_ = nullptr, *bias_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_causal_conv1d(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<CausalConv1d>(op.params_as_CausalConv1d()->state());
  return {};
}

}  // namespace ferry::cpu
