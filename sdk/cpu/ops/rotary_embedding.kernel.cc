#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

// Rotate one head of one token: channels i and i + half, or neighbouring channels.
FERRY_KERNEL void rotate_halves(const float* x, const float* cos, const float* sin, size_t half, float* y) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = a * cos[i] - b * sin[i];
    y[i + half] = b * cos[i + half] + a * sin[i + half];
  }
}

FERRY_KERNEL void rotate_pairs(const float* x, const float* cos, const float* sin, size_t half, float* y) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = a * cos[2 * i] - b * sin[2 * i];
    y[2 * i + 1] = b * cos[2 * i + 1] + a * sin[2 * i + 1];
  }
}

class RotaryEmbedding : public Op {
 public:
  explicit RotaryEmbedding(const fbs::RotaryEmbedding& params) : params_(params) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    tokens_ = static_cast<size_t>(x[1]);
    rows_ = elements(x, 0, 2);
    channels_ = static_cast<size_t>(x[2]);
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
    output_ = floats(output);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t size = channels_ / static_cast<size_t>(params_.heads());
    const auto rotate = params_.interleaved() ? rotate_pairs : rotate_halves;
    parallel_rows(pool, rows_, channels_, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const size_t entry = row % tokens_ * size;
        for (size_t c = row * channels_; c < (row + 1) * channels_; c += size)
          rotate(inputs_[0] + c, inputs_[1] + entry, inputs_[2] + entry, size / 2, output_ + c);
      }
    });
    return {};
  }

 private:
  const fbs::RotaryEmbedding& params_;
  size_t rows_ = 0, tokens_ = 0, channels_ = 0;
  std::array<const float*, 3> inputs_{};
  float* output_ = nullptr;
};

}  // namespace

Status create_rotary_embedding(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<RotaryEmbedding>(*op.params_as_RotaryEmbedding());
  return {};
}

}  // namespace ferry::cpu
