#include <algorithm>
#include <array>
#include <limits>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// Rows of at most this many elements are computed many at a time.
constexpr size_t kShort = 16;
// For longer rows.
constexpr size_t kLanes = kParts, kRun = 1024;  // elements per vector step; elements whose sum is in float

// e^x for x <= 0; 0 where it would be a denormal, so that masked elements have no weight.
[[gnu::always_inline]] inline float weight(float x) {
  constexpr float kMinimum = -87.0f;
  const float value = softmax_exponential(x, kMinimum);
  return x < kMinimum ? 0.0f : value;
}

// Consecutive rows of `n` elements. y may be x.
FERRY_KERNEL void softmax_short(const float* x, float* y, size_t rows, size_t n) {
  std::array<float, 32 * kShort> e;
  for (size_t first = 0; first < rows; first += 32) {
    const size_t count = std::min<size_t>(32, rows - first), all = count * n;
    for (size_t r = 0; r < count; ++r) {
      const float* row = x + (first + r) * n;
      const float maximum = *std::max_element(row, row + n);
      for (size_t i = 0; i < n; ++i) e[r * n + i] = row[i] - maximum;
    }
    for (size_t i = 0; i < all; ++i) e[i] = weight(e[i]);
    for (size_t r = 0; r < count; ++r) {
      float sum = 0;
      for (size_t i = 0; i < n; ++i) sum += e[r * n + i];
      for (size_t i = 0; i < n; ++i) y[(first + r) * n + i] = e[r * n + i] / sum;
    }
  }
}

// y = e^(x - maximum) of kLanes elements, which are added to the sums. y may be x.
[[gnu::always_inline]] inline void exponentiate(const float* x, float maximum, float* y, float* sums) {
  FERRY_INDEPENDENT
  for (size_t k = 0; k < kLanes; ++k) {
    y[k] = weight(x[k] - maximum);
    sums[k] += y[k];
  }
}

// Softmax of a longer row.
FERRY_KERNEL void softmax_long(const float* x, float* y, size_t n) {
  float maxima[kLanes], last[kLanes];
  std::copy_n(x, kLanes, maxima);
  for (size_t i = kLanes; i < n; i += kLanes) {
    const float* some = x + std::min(i, n - kLanes);  // the last ones overlap
#pragma GCC unroll 1                                  // if unrolled, gcc compares elements one by one
    for (size_t k = 0; k < kLanes; ++k) maxima[k] = some[k] > maxima[k] ? some[k] : maxima[k];
  }
  const float maximum = reduce(maxima, [](Quad a, Quad b) { return a > b ? a : b; });
  const size_t whole = n / kLanes * kLanes;
  std::fill_n(last, kLanes, -std::numeric_limits<float>::infinity());  // has the weight 0
  std::copy_n(x + whole, n - whole, last);
  double sum = 0;
  for (size_t i = 0; i < whole;) {
    float sums[kLanes] = {};
    for (const size_t end = std::min(i + kRun, whole); i < end; i += kLanes) exponentiate(x + i, maximum, y + i, sums);
    if (i == whole) exponentiate(last, maximum, last, sums);
    sum += static_cast<double>(reduce(sums, [](Quad a, Quad b) { return a + b; }));
  }
  std::copy_n(last, n - whole, y + whole);
  const float factor = static_cast<float>(1 / sum);
  FERRY_INDEPENDENT
  for (size_t i = 0; i < n; ++i) y[i] *= factor;
}

// y may be x.
void softmax(const float* x, float* y, size_t rows, size_t n) {
  if (n <= kShort) return softmax_short(x, y, rows, n);
  for (size_t row = 0; row < rows; ++row) softmax_long(x + row * n, y + row * n, n);
}

class Softmax : public Op {
 public:
  explicit Softmax(bool float16) : float16_(float16) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    const Shape& x = inputs[0];
    length_ = static_cast<size_t>(x[x.rank - 1]);
    rows_ = elements(x, 0, x.rank - 1);
    together_ = std::max<size_t>(kFloat16sAtOnce / length_, 1);
    *workspace = float16_ ? uint64_t{sizeof(float)} * pool->threads() * together_ * length_ : 0;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = inputs[0];
    y_ = output;
    wide_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    if constexpr (built_in(Feature::Float16))
      if (float16_) return run_float16s(pool);
    parallel_rows(pool, rows_, length_, [this](size_t begin, size_t end) {
      softmax(floats(x_) + begin * length_, floats(y_) + begin * length_, end - begin, length_);
    });
    return {};
  }

 private:
  // Several float16 rows at a time, converted to float32 on the stack.
  Status run_float16s(Pool* pool) const {
    const size_t piece = together_ * length_, count = rows_ * length_;
    parallel(pool, Grid<1, 0>{{(rows_ + together_ - 1) / together_}}, [&](Pool::Share& share, size_t i) {
      const size_t at = i * piece, some = std::min(piece, count - at);
      float* wide = wide_ + share.thread() * piece;
      widen(float16s(x_) + at, wide, some);
      softmax(wide, wide, some / length_, length_);
      narrow(wide, float16s(y_) + at, some);
    });
    return {};
  }

  const bool float16_;
  size_t length_ = 1, rows_ = 0;
  size_t together_ = 1;  // float16 rows per task
  const void* x_ = nullptr;
  void* y_ = nullptr;
  float* wide_ = nullptr;
};

}  // namespace

Status create_softmax(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Softmax>(/*float16=*/false);
  return {};
}

Status create_float16_softmax(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Softmax>(/*float16=*/true);
  return {};
}

}  // namespace ferry::cpu
