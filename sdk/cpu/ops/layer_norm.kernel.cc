#include <cmath>
#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

constexpr size_t kLanes = 32;    // partial sums of a row: several vectors, so that additions do not wait for each other
constexpr size_t kTogether = 2;  // rows: the sums of one are reduced while those of the other are accumulated

// In registers: sums in memory wait for every store.
[[gnu::always_inline]] inline float total(const float* sums) {
  typedef float Sixteen __attribute__((vector_size(64)));
  Sixteen sum, other;
  static_assert(sizeof sum + sizeof other == kLanes * sizeof(float));
  std::memcpy(&sum, sums, sizeof sum);
  std::memcpy(&other, sums + kLanes / 2, sizeof other);
  sum += other;
  const auto eight = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four =
      __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

struct Affine {
  const float *weight, *bias;
  size_t channels;
  float epsilon;
  bool centered;
};

// (x - mean) / sqrt(variance + epsilon) * weight + bias, for a row and, unless it is `alone`, the next. The variance is
// computed from deviations from the mean, which avoids cancellation. If not centered, the mean is 0.
[[gnu::always_inline]] inline void normalize(const float* x, bool alone, const Affine& affine, float* y) {
  const size_t count = affine.channels, whole = count / kLanes * kLanes, step = alone ? 0 : count;
  float mean[kTogether] = {}, scale[kTogether];
  if (affine.centered) {
    alignas(64) float sums[kTogether][kLanes] = {};
    for (size_t i = 0; i < whole; i += kLanes) {
      for (size_t row = 0; row < kTogether; ++row)
        for (size_t k = 0; k < kLanes; ++k) sums[row][k] += x[row * step + i + k];
    }
    for (size_t row = 0; row < kTogether; ++row) {
      for (size_t i = whole; i < count; ++i) sums[row][i - whole] += x[row * step + i];
      mean[row] = total(sums[row]) / static_cast<float>(count);
    }
  }
  alignas(64) float squares[kTogether][kLanes] = {};
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t row = 0; row < kTogether; ++row) {
      const float* from = x + row * step + i;
      for (size_t k = 0; k < kLanes; ++k) squares[row][k] += (from[k] - mean[row]) * (from[k] - mean[row]);
      // Prefetches the next rows while these are read from the L1 cache.
      for (size_t k = 0; k < kLanes; k += 16) __builtin_prefetch(from + kTogether * count + k);
    }
  }
  for (size_t row = 0; row < kTogether; ++row) {
    for (size_t i = whole; i < count; ++i) {
      const float deviation = x[row * step + i] - mean[row];
      squares[row][i - whole] += deviation * deviation;
    }
    scale[row] = 1.0f / std::sqrt(total(squares[row]) / static_cast<float>(count) + affine.epsilon);
  }
  for (size_t row = 0; row < (alone ? 1 : kTogether); ++row, x += count, y += count) {
    FERRY_INDEPENDENT
    for (size_t i = 0; i < count; ++i) y[i] = (x[i] - mean[row]) * scale[row] * affine.weight[i] + affine.bias[i];
  }
}

FERRY_KERNEL void normalize_rows(const float* x, size_t rows, const Affine& affine, float* y) {
  const size_t channels = affine.channels;
  for (size_t row = 0; row < rows; row += kTogether)
    normalize(x + row * channels, rows - row < kTogether, affine, y + row * channels);
}

class LayerNorm : public Op {
 public:
  LayerNorm(const fbs::LayerNorm& params, bool float16)
      : epsilon_(params.epsilon()), centered_(params.centered()), float16_(float16) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    const Shape& x = inputs[0];
    channels_ = static_cast<size_t>(x[x.rank - 1]);
    rows_ = elements(x, 0, x.rank - 1);
    *workspace = float16_ ? uint64_t{sizeof(float)} * pool->threads() * kTogether * channels_ : 0;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
    output_ = floats(output);
    wide_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    if constexpr (built_in(Feature::Float16))
      if (float16_) return run_float16s(pool);
    parallel_rows(pool, rows_, channels_, [&](size_t begin, size_t end) {
      const Affine affine = {inputs_[1], inputs_[2], channels_, epsilon_, centered_};
      normalize_rows(inputs_[0] + begin * channels_, end - begin, affine, output_ + begin * channels_);
    });
    return {};
  }

 private:
  // Normalizes several float16 rows at a time, converted to float32 on the stack.
  Status run_float16s(Pool* pool) const {
    const size_t piece = kTogether * channels_, count = rows_ * channels_;
    parallel(pool, Grid<1, 0>{{(rows_ + kTogether - 1) / kTogether}}, [&](Pool::Share& share, size_t i) {
      const Affine affine = {inputs_[1], inputs_[2], channels_, epsilon_, centered_};
      const size_t at = i * piece, some = std::min(piece, count - at);
      float* wide = wide_ + share.thread() * piece;
      widen(float16s(inputs_[0]) + at, wide, some);
      normalize_rows(wide, some / channels_, affine, wide);
      narrow(wide, float16s(output_) + at, some);
    });
    return {};
  }

  const float epsilon_;
  const bool centered_, float16_;
  size_t rows_ = 0, channels_ = 0;
  std::array<const float*, 3> inputs_{};
  float *output_ = nullptr, *wide_ = nullptr;
};

}  // namespace

Status create_layer_norm(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<LayerNorm>(*op.params_as_LayerNorm(), /*float16=*/false);
  return {};
}

Status create_float16_layer_norm(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<LayerNorm>(*op.params_as_LayerNorm(), /*float16=*/true);
  return {};
}

}  // namespace ferry::cpu
