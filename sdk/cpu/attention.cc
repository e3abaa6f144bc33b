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

constexpr size_t kQueries = 6;  // with kWide keys or values: twelve vectors of sums
constexpr size_t kWide = 16;
constexpr size_t kKeys = 256;  // scores on the stack, for each query

typedef float Vector __attribute__((vector_size(32)));
typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
constexpr size_t kLanes = sizeof(Vector) / sizeof(float);

[[gnu::always_inline]] inline const Unaligned& vector(const float* at) {
  return *reinterpret_cast<const Unaligned*>(at);
}
[[gnu::always_inline]] inline Unaligned& vector(float* at) { return *reinterpret_cast<Unaligned*>(at); }

// rows[i][0..kWide) = sum over k of a[i][k] * b[k * stride + 0..kWide), for kQueries rows.
struct Product {
  const float* a[kQueries];
  const float* b;
  size_t stride, count;
};
[[gnu::always_inline]] inline void multiply(const Product& p, Vector (&sums)[kQueries][2]) {
  for (auto& sum : sums) sum[0] = sum[1] = Vector{};
  const float* b = p.b;
  for (size_t k = 0; k < p.count; ++k, b += p.stride) {
    const Vector left = vector(b), right = vector(b + kLanes);
    for (size_t i = 0; i < kQueries; ++i) {
      sums[i][0] += p.a[i][k] * left;
      sums[i][1] += p.a[i][k] * right;
    }
  }
}

// scores[i][s] = q[i] . key s, for a multiple of kWide keys; `keys` is transposed, [D, stride].
FERRY_KERNEL void score(const float* const* q, size_t size, const float* keys, size_t stride, size_t count,
                        float (*scores)[kKeys]) {
  for (size_t s = 0; s < count; s += kWide) {
    Product p{.b = keys + s, .stride = stride, .count = size};
    std::copy_n(q, kQueries, p.a);
    Vector sums[kQueries][2];
    multiply(p, sums);
    for (size_t i = 0; i < kQueries; ++i) {
      vector(scores[i] + s) = sums[i][0];
      vector(scores[i] + s + kLanes) = sums[i][1];
    }
  }
}

// y[i][0..size) = y[i] * keep[i] + sum over s of weights[i][s] * values[s * stride...], for the first `rows` of kQueries.
FERRY_KERNEL void weigh(const float (*weights)[kKeys], size_t count, const float* values, size_t stride, size_t size,
                        const float* keep, float* y, size_t y_stride, size_t rows) {
  size_t e = 0;
  for (; e + kWide <= size; e += kWide) {
    Product p{.b = values + e, .stride = stride, .count = count};
    for (size_t i = 0; i < kQueries; ++i) p.a[i] = weights[i];
    Vector sums[kQueries][2];
    multiply(p, sums);
    for (size_t i = 0; i < rows; ++i) {
      float* to = y + i * y_stride + e;
      if (keep[i] != 0) {
        sums[i][0] += vector(to) * keep[i];
        sums[i][1] += vector(to + kLanes) * keep[i];
      }
      vector(to) = sums[i][0];
      vector(to + kLanes) = sums[i][1];
    }
  }
  for (; e < size; ++e) {
    for (size_t i = 0; i < rows; ++i) {
      float sum = keep[i] != 0 ? y[i * y_stride + e] * keep[i] : 0.0f;
      for (size_t s = 0; s < count; ++s) sum += weights[i][s] * values[s * stride + e];
      y[i * y_stride + e] = sum;
    }
  }
}

FERRY_KERNEL float scale_and_add(float* row, size_t count, float scale, const float* bias, const float* mask) {
  constexpr size_t kParts = 8;
  for (size_t s = 0; s < count; ++s) row[s] *= scale;
  if (bias != nullptr) {
    for (size_t s = 0; s < count; ++s) row[s] += bias[s];
  }
  if (mask != nullptr) {
    for (size_t s = 0; s < count; ++s) row[s] += mask[s];
  }
  float most[kParts];
  std::fill_n(most, kParts, row[0]);
  size_t s = 0;
  for (; s + kParts <= count; s += kParts) {
    for (size_t k = 0; k < kParts; ++k) most[k] = row[s + k] > most[k] ? row[s + k] : most[k];
  }
  for (; s < count; ++s) most[0] = row[s] > most[0] ? row[s] : most[0];
  return *std::max_element(most, most + kParts);
}

// row = e^(row - most); the sum of it.
FERRY_KERNEL float exponentiate(float* row, size_t count, float most) {
  constexpr size_t kParts = 8;
  for (size_t s = 0; s < count; ++s) {
    const float x = row[s] - most;
    row[s] = exponential(x < -87.0f ? -87.0f : x);
  }
  float sums[kParts] = {};
  size_t s = 0;
  for (; s + kParts <= count; s += kParts) {
    for (size_t k = 0; k < kParts; ++k) sums[k] += row[s + k];
  }
  for (; s < count; ++s) sums[s % kParts] += row[s];
  for (size_t step = kParts / 2; step > 0; step /= 2) {
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
  size_t padded_keys() const { return (keys_ + kWide - 1) / kWide * kWide; }
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
    float scores[kQueries][kKeys];
    for (size_t begin = 0; begin < keys_; begin += kKeys) {
      const size_t count = std::min(kKeys, keys_ - begin);
      score(q, key_size_, keys + begin, padded_keys(), (count + kWide - 1) / kWide * kWide, scores);
      for (size_t i = 0; i < kQueries; ++i) {
        const size_t query = first + std::min(i, rows - 1);
        const float *bias = biases_[0].row(n, head, query, keys_), *mask = biases_[1].row(n, head, query, keys_);
        const float here =
            scale_and_add(scores[i], count, scale_, bias ? bias + begin : nullptr, mask ? mask + begin : nullptr);
        const float new_most = std::max(most[i], here);
        keep[i] = begin == 0 ? 0.0f : std::exp(most[i] - new_most);
        most[i] = new_most;
        sums[i] = sums[i] * keep[i] + exponentiate(scores[i], count, new_most);
      }
      weigh(scores, count, values + begin * kv_heads_ * value_size_, kv_heads_ * value_size_, value_size_, keep, y,
            heads_ * value_size_, rows);
    }
    for (size_t i = 0; i < rows; ++i) multiply_row(y + i * heads_ * value_size_, value_size_, 1.0f / sums[i]);
  }

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
