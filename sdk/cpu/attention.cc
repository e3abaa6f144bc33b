// softmax(scale * q k^T + biases) v, a few queries of one head at a time. Scores live on the stack, for a run of keys; the
// softmax is corrected from run to run as its maximum grows (Milakov and Gimelshein 2018, online softmax).
#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/cpu/exponential.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

constexpr size_t kTileRows = 6;             // of a product: with two vectors of values, twelve of sums
constexpr size_t kQueries = 2 * kTileRows;  // at once: keys and values come from the L2 cache for two tiles
constexpr size_t kKeys = 256;               // scores on the stack, for each query
constexpr size_t kParts = 16;  // of a row of scores: partial sums, so that additions do not wait for each other

// y[i][0..width) = y[i] * keep[i] + sum over k of a[i][k] * b[k * b_stride + 0..width), for `rows` rows. Where keep is 0, y
// is not read. Of a, rows up to a multiple of kTileRows are read.
struct Product {
  const float* const* a;
  const float* b;
  size_t b_stride, count;
  const float* keep;
  float* y;
  size_t y_stride, width, rows;
};

// A tile of kTileRows rows from `first` on, `kCount` vectors from `x` on. All loops over sums are unrolled: only then are
// the sums in registers.
template <size_t kBytes, size_t kCount>
[[gnu::always_inline]] inline void multiply_tile(const Product& p, size_t first, size_t x) {
  typedef float Vector __attribute__((vector_size(kBytes)));
  typedef float Unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
  const float* a[kTileRows];
  std::copy_n(p.a + first, kTileRows, a);
  Vector sums[kTileRows][kCount];
#pragma GCC unroll 6
  for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
    for (size_t j = 0; j < kCount; ++j) sums[i][j] = Vector{};
  const float* b = p.b + x;
  for (size_t k = 0; k < p.count; ++k, b += p.b_stride)
#pragma GCC unroll 6
    for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
      for (size_t j = 0; j < kCount; ++j) sums[i][j] += a[i][k] * reinterpret_cast<const Unaligned*>(b)[j];
#pragma GCC unroll 6
  for (size_t i = 0; i < kTileRows; ++i) {
    if (first + i >= p.rows) return;
    Unaligned* y = reinterpret_cast<Unaligned*>(p.y + (first + i) * p.y_stride + x);
    const float keep = p.keep[first + i];
#pragma GCC unroll 4
    for (size_t j = 0; j < kCount; ++j) y[j] = keep != 0 ? sums[i][j] + y[j] * keep : sums[i][j];
  }
}

// From column `x` on: in tiles of `kCount` vectors, what is left in narrower ones.
template <size_t kBytes, size_t kCount>
[[gnu::always_inline]] inline void multiply_with(const Product& p, size_t x = 0) {
  constexpr size_t kWidth = kCount * kBytes / sizeof(float);
  for (; x + kWidth <= p.width; x += kWidth)
    for (size_t first = 0; first < p.rows; first += kTileRows) multiply_tile<kBytes, kCount>(p, first, x);
  if constexpr (kCount > 1) {
    multiply_with<kBytes, kCount / 2>(p, x);
  } else if constexpr (kBytes > 16) {
    multiply_with<kBytes / 2, 1>(p, x);
  } else {
    for (; x < p.width; ++x) {
      for (size_t i = 0; i < p.rows; ++i) {
        float sum = p.keep[i] != 0 ? p.y[i * p.y_stride + x] * p.keep[i] : 0.0f;
        for (size_t k = 0; k < p.count; ++k) sum += p.a[i][k] * p.b[k * p.b_stride + x];
        p.y[i * p.y_stride + x] = sum;
      }
    }
  }
}

// A clone of one kernel would not do: how wide vectors are is in the text.
void multiply_128(const Product& p) { multiply_with<16, 2>(p); }
#if defined(__x86_64__) && defined(__gnu_linux__)
[[gnu::target("avx2,fma")]] void multiply_256(const Product& p) { multiply_with<32, 2>(p); }
[[gnu::target("avx512f")]] void multiply_512(const Product& p) { multiply_with<64, 4>(p); }
#endif

using Multiply = void (*)(const Product&);
Multiply widest_multiply() {
#if defined(__x86_64__) && defined(__gnu_linux__)
  if (__builtin_cpu_supports("avx512f")) return multiply_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_256;
#endif
  return multiply_128;
}

// row = row * scale + bias + mask; the greatest of it. The row has numbers up to a multiple of kParts; behind `count` it is
// filled with what weighs nothing.
FERRY_KERNEL float scale_and_add(float* row, size_t count, float scale, const float* bias, const float* mask) {
  const size_t last = (count - 1) / kParts * kParts;
  for (size_t s = 0; s <= last; s += kParts) {
    for (size_t k = 0; k < kParts; ++k) row[s + k] *= scale;
  }
  if (bias != nullptr) {
    for (size_t s = 0; s < count; ++s) row[s] += bias[s];
  }
  if (mask != nullptr) {
    for (size_t s = 0; s < count; ++s) row[s] += mask[s];
  }
  for (size_t k = 0; k < kParts; ++k)
    row[last + k] = last + k < count ? row[last + k] : std::numeric_limits<float>::lowest();
  float most[kParts];
  std::copy_n(row, kParts, most);
  for (size_t s = kParts; s <= last; s += kParts) {
#pragma GCC unroll 1  // unrolled, gcc would compare numbers one by one
    for (size_t k = 0; k < kParts; ++k) most[k] = row[s + k] > most[k] ? row[s + k] : most[k];
  }
  for (size_t step = kParts / 2; step > 0; step /= 2) {
    for (size_t k = 0; k < step; ++k) most[k] = most[k + step] > most[k] ? most[k + step] : most[k];
  }
  return most[0];
}

// row = e^(row - most), up to a multiple of kParts; the sum of it.
FERRY_KERNEL float exponentiate(float* row, size_t count, float most) {
  float sums[kParts] = {};
  for (size_t s = 0; s < count; s += kParts) {
    for (size_t k = 0; k < kParts; ++k) {
      const float x = row[s + k] - most;
      row[s + k] = exponential(x < -87.0f ? -87.0f : x);
      sums[k] += row[s + k];
    }
  }
#pragma GCC unroll 4
  for (size_t step = kParts / 2; step > 0; step /= 2) {
#pragma GCC unroll 8
    for (size_t k = 0; k < step; ++k) sums[k] += sums[k + step];
  }
  return sums[0];
}

FERRY_KERNEL void multiply_row(float* row, size_t count, float factor) {
  for (size_t i = 0; i < count; ++i) row[i] *= factor;
}

struct Bias {
  const float* data = nullptr;
  size_t samples = 1, heads = 1, queries = 1;

  const float* row(size_t n, size_t head, size_t query, size_t keys) const {
    if (data == nullptr) return nullptr;
    return data + ((n % samples * heads + head % heads) * queries + query % queries) * keys;
  }
};

class Attention : public Op {
 public:
  explicit Attention(const fbs::Attention& params)
      : heads_(static_cast<size_t>(params.heads())),
        kv_heads_(static_cast<size_t>(params.kv_heads())),
        scale_(params.scale()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    const Shape &q = inputs[0], &v = inputs[2];
    samples_ = static_cast<size_t>(q[0]);
    queries_ = static_cast<size_t>(q[1]);
    keys_ = static_cast<size_t>(v[1]);
    key_size_ = static_cast<size_t>(q[2]) / heads_;
    value_size_ = static_cast<size_t>(v[2]) / kv_heads_;
    for (size_t i = 3; i < inputs.size(); ++i) {
      const Shape& b = inputs[i];
      biases_[i - 3] = {nullptr, static_cast<size_t>(b[0]), static_cast<size_t>(b[1]), static_cast<size_t>(b[2])};
    }
    *workspace = samples_ * kv_heads_ * key_size_ * padded_keys() * sizeof(float);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
    for (size_t i = 3; i < inputs.size(); ++i) biases_[i - 3].data = floats(inputs[i]);
    output_ = floats(output);
    transposed_ = floats(workspace);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    parallel_rows(pool, samples_ * kv_heads_, key_size_ * keys_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) transpose_keys(i / kv_heads_, i % kv_heads_);
    });
    const size_t blocks = (queries_ + kQueries - 1) / kQueries;
    parallel_rows(pool, samples_ * heads_ * blocks, keys_ * (key_size_ + value_size_), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) attend(i / blocks / heads_, i / blocks % heads_, i % blocks * kQueries);
    });
    return {};
  }

 private:
  size_t padded_keys() const { return (keys_ + kParts - 1) / kParts * kParts; }
  float* transposed(size_t n, size_t kv_head) const {
    return transposed_ + (n * kv_heads_ + kv_head) * key_size_ * padded_keys();
  }

  void transpose_keys(size_t n, size_t kv_head) const {
    const float* from = inputs_[1] + (n * keys_ * kv_heads_ + kv_head) * key_size_;
    float* to = transposed(n, kv_head);
    const size_t width = padded_keys();
    for (size_t s = 0; s < keys_; ++s) {
      for (size_t d = 0; d < key_size_; ++d) to[d * width + s] = from[s * kv_heads_ * key_size_ + d];
    }
    for (size_t d = 0; d < key_size_; ++d) std::fill(to + d * width + keys_, to + (d + 1) * width, 0.0f);
  }

  void attend(size_t n, size_t head, size_t first) const {
    const size_t kv_head = head / (heads_ / kv_heads_), rows = std::min(kQueries, queries_ - first);
    const float* q[kQueries];
    for (size_t i = 0; i < kQueries; ++i)  // past the last query: that one again
      q[i] = inputs_[0] + ((n * queries_ + first + std::min(i, rows - 1)) * heads_ + head) * key_size_;
    float* y = output_ + ((n * queries_ + first) * heads_ + head) * value_size_;
    const float* keys = transposed(n, kv_head);
    const float* values = inputs_[2] + (n * keys_ * kv_heads_ + kv_head) * value_size_;

    float most[kQueries], sums[kQueries] = {}, keep[kQueries] = {};
    std::fill_n(most, kQueries, std::numeric_limits<float>::lowest());  // finite: keys may be masked by -infinity
    alignas(64) float scores[kQueries][kKeys];
    const float* weights[kQueries];
    for (size_t i = 0; i < kQueries; ++i) weights[i] = scores[i];
    for (size_t begin = 0; begin < keys_; begin += kKeys) {
      const size_t count = std::min(kKeys, keys_ - begin);
      const size_t padded = (count + kParts - 1) / kParts * kParts;
      std::fill_n(keep, rows, 0.0f);
      multiply_({q, keys + begin, padded_keys(), key_size_, keep, scores[0], kKeys, padded, rows});
      for (size_t i = 0; i < rows; ++i) {
        const size_t query = first + i;
        const float *bias = biases_[0].row(n, head, query, keys_), *mask = biases_[1].row(n, head, query, keys_);
        const float here =
            scale_and_add(scores[i], count, scale_, bias ? bias + begin : nullptr, mask ? mask + begin : nullptr);
        const float new_most = std::max(most[i], here);
        keep[i] = begin == 0 ? 0.0f : std::exp(most[i] - new_most);
        most[i] = new_most;
      }
      // A loop of its own: no row waits for its greatest.
      for (size_t i = 0; i < rows; ++i) sums[i] = sums[i] * keep[i] + exponentiate(scores[i], count, most[i]);
      multiply_({weights, values + begin * kv_heads_ * value_size_, kv_heads_ * value_size_, count, keep, y,
                 heads_ * value_size_, value_size_, rows});
    }
    for (size_t i = 0; i < rows; ++i) multiply_row(y + i * heads_ * value_size_, value_size_, 1.0f / sums[i]);
  }

  const Multiply multiply_ = widest_multiply();
  size_t heads_, kv_heads_;
  float scale_;
  size_t samples_ = 0, queries_ = 0, keys_ = 0, key_size_ = 0, value_size_ = 0;
  std::array<Bias, 2> biases_;
  std::array<const float*, 3> inputs_{};
  float* output_ = nullptr;
  float* transposed_ = nullptr;
};

}  // namespace

Status create_attention(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Attention>(*op.params_as_Attention());
  return {};
}

}  // namespace ferry::cpu
