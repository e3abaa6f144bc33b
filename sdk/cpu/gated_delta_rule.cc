// The rule for a chunk of tokens at once (Yang et al., arXiv:2412.06464, section 3.3). Where G_i is the sum of g from
// the chunk's begin to token i, and S the state before the chunk,
//
//     D_i = beta_i (v_i - e^G_i k_i S - sum over j < i of e^(G_i - G_j) (k_i k_j) D_j)
//     y_i = e^G_i q_i S + sum over j <= i of e^(G_i - G_j) (q_i k_j) D_j
//     S'  = e^G_last S + sum over j of e^(G_last - G_j) k_j^T D_j
//
// which is products of matrices but for the sum over j < i. A chunk of one token is the rule as it is written.
#include <algorithm>
#include <cmath>

#include "sdk/cpu/exponential.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/products.h"
#include "sdk/cpu/xnn.h"
#include "sdk/graph/states.h"

namespace ferry::cpu {
namespace {

constexpr size_t kChunk = 10 * kTileRows;  // of tokens
static_assert(kChunk % (2 * kTileRows) == 0);

// row[j] *= e^(sum - sums[j]). Sums are in double: of two large ones a small difference counts.
FERRY_KERNEL void decay(double sum, const double* sums, size_t count, float* row) {
  for (size_t j = 0; j < count; ++j) {
    const float x = static_cast<float>(sum - sums[j]);
    const float above = x < -87.0f ? -87.0f : x;
    row[j] *= exponential(above > 88.0f ? 88.0f : above);
  }
}

// rows[i] += sum over j < i of factors[i][j] * rows[j], from the first row to the last. In double: what one row is
// wrong by, all that follow take over.
FERRY_KERNEL void substitute(const float* factors, size_t count, size_t width, float* rows) {
  constexpr size_t kBlock = 32;
  double sums[kBlock];
  for (size_t i = 1; i < count; ++i) {
    for (size_t begin = 0; begin < width; begin += kBlock) {
      const size_t size = std::min(kBlock, width - begin);
      float* row = rows + i * width + begin;
      for (size_t e = 0; e < size; ++e) sums[e] = static_cast<double>(row[e]);
      for (size_t j = 0; j < i; ++j) {
        const double factor = static_cast<double>(factors[i * count + j]);
        const float* before = rows + j * width + begin;
        for (size_t e = 0; e < size; ++e) sums[e] += factor * static_cast<double>(before[e]);
      }
      for (size_t e = 0; e < size; ++e) row[e] = static_cast<float>(sums[e]);
    }
  }
}

// The rule as it is written, for one token: what is added up from token to token is added up in double. `sums` has room
// for 2 * width numbers.
FERRY_KERNEL void step(const float* q, const float* k, const float* v, double decay, double beta, size_t keys,
                       size_t width, float* state, double* sums, float* y) {
  double *missed = sums, *seen = sums + width;
  std::fill_n(sums, 2 * width, 0.0);
  for (size_t d = 0; d < keys; ++d) {
    const double key = static_cast<double>(k[d]);
    for (size_t e = 0; e < width; ++e) missed[e] += key * static_cast<double>(state[d * width + e]);
  }
  for (size_t e = 0; e < width; ++e) missed[e] = beta * (static_cast<double>(v[e]) - decay * missed[e]);
  for (size_t d = 0; d < keys; ++d) {
    const double key = static_cast<double>(k[d]), query = static_cast<double>(q[d]);
    float* row = state + d * width;
    for (size_t e = 0; e < width; ++e) {
      const double next = decay * static_cast<double>(row[e]) + key * missed[e];
      seen[e] += query * next;
      row[e] = static_cast<float>(next);
    }
  }
  for (size_t e = 0; e < width; ++e) y[e] = static_cast<float>(seen[e]);
}

// Of a chunk, as a product takes them: those behind the last are the last.
struct Rows {
  Rows(const float* first, size_t stride, size_t count) {
    for (size_t i = 0; i < kChunk; ++i) at[i] = first + std::min(i, count - 1) * stride;
  }
  const float* at[kChunk];
};

// One a token, or a row of the state.
using Numbers = std::array<float, kChunk>;

constexpr Numbers all(float value) {
  Numbers out{};
  out.fill(value);
  return out;
}
constexpr Numbers kNone = all(0), kOne = all(1);
constexpr double kBegin = 0;  // the sum before the chunk

class GatedDeltaRule : public Op {
 public:
  GatedDeltaRule(const CpuFeatures& cpu, uint32_t state) : multiply_(widest_multiply(cpu)), state_(state) {}

  void set_states(const States& states) override { states_ = &states; }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, size_t* workspace) override {
    const Shape& state = states_->shapes()[state_].bound;
    samples_ = static_cast<size_t>(state[0]);
    heads_ = static_cast<size_t>(state[1]);
    key_size_ = static_cast<size_t>(state[2]);
    value_size_ = static_cast<size_t>(state[3]);
    tokens_ = static_cast<size_t>(inputs[0][1]);
    key_heads_ = static_cast<size_t>(inputs[0][2]) / key_size_;
    *workspace = pool->threads() * scratch_size() * sizeof(float);
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = floats(inputs[i]);
    output_ = floats(output);
    scratch_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t size = key_size_ * value_size_;
    const float* before = floats(states_->data(state_));
    float* after = floats(states_->next(state_));
    parallel(pool, Grid<1, 0>{{samples_ * heads_}}, [&](Pool::Share& share, size_t head) {
      float* state = after + head * size;
      std::copy_n(before + head * size, size, state);
      for (size_t first = 0; first < tokens_ && !pool->cancelled(); first += kChunk)
        take(head, first, std::min(kChunk, tokens_ - first), state, scratch_ + share.thread() * scratch_size());
    });
    return {};
  }

 private:
  size_t scratch_size() const {
    const size_t chunk = std::min(kChunk, tokens_);
    const size_t size = std::max((key_size_ + value_size_ + 2 * chunk) * chunk, 4 * value_size_);
    return (size + 1) / 2 * 2;  // each thread's begins where a double may
  }

  // `count` tokens from `first` on, for head `index` of all samples' heads.
  void take(size_t index, size_t first, size_t count, float* state, float* scratch) const {
    const size_t token = index / heads_ * tokens_ + first, head = index % heads_;
    const size_t key_stride = key_heads_ * key_size_, value_stride = heads_ * value_size_;
    const size_t key = token * key_stride + head / (heads_ / key_heads_) * key_size_;
    const size_t value = token * value_stride + head * value_size_;
    const Rows q(inputs_[0] + key, key_stride, count), k(inputs_[1] + key, key_stride, count);
    float* keys = scratch;                             // k transposed
    float* corrections = keys + key_size_ * count;     // D
    float* known = corrections + value_size_ * count;  // of each token: -beta_i e^(G_i - G_j) (k_i k_j)
    float* seen = known + count * count;               // e^(G_i - G_j) (q_i k_j)
    float* y = output_ + value;
    if (count == 1) {
      const size_t place = token * heads_ + head;
      step(q.at[0], k.at[0], inputs_[2] + value, std::exp(static_cast<double>(inputs_[3][place])),
           static_cast<double>(inputs_[4][place]), key_size_, value_size_, state, reinterpret_cast<double*>(scratch),
           y);
      return;
    }

    // How tokens decay what is before the chunk, and what they take of it.
    double sums[kChunk], sum = 0;
    Numbers decays = all(1), betas = all(0), less = all(0);
    for (size_t i = 0; i < count; ++i) {
      const size_t place = (token + i) * heads_ + head;
      sums[i] = sum += static_cast<double>(inputs_[3][place]);
      decay(sum, &kBegin, 1, &decays[i]);
      betas[i] = inputs_[4][place];
      less[i] = -betas[i] * decays[i];
      const float* v = inputs_[2] + value + i * value_stride;
      for (size_t e = 0; e < value_size_; ++e) corrections[i * value_size_ + e] = betas[i] * v[e];
    }
    multiply_(
        {k.at, state, value_size_, key_size_, kOne.data(), less.data(), corrections, value_size_, value_size_, count});
    multiply_({q.at, state, value_size_, key_size_, kNone.data(), decays.data(), y, value_stride, value_size_, count});

    // And what they take of each other.
    for (size_t d = 0; d < key_size_; ++d)
      for (size_t i = 0; i < count; ++i) keys[d * count + i] = k.at[i][d];
    for (float& beta : betas) beta = -beta;
    multiply_({k.at, keys, count, key_size_, kNone.data(), betas.data(), known, count, count, count});
    multiply_({q.at, keys, count, key_size_, kNone.data(), kOne.data(), seen, count, count, count});
    for (size_t i = 0; i < count; ++i) {
      decay(sums[i], sums, i, known + i * count);
      decay(sums[i], sums, i + 1, seen + i * count);
      std::fill(seen + i * count + i + 1, seen + (i + 1) * count, 0.0f);
    }
    substitute(known, count, value_size_, corrections);
    const Rows weights(seen, count, count);
    multiply_(
        {weights.at, corrections, value_size_, count, kOne.data(), kOne.data(), y, value_stride, value_size_, count});

    // What they leave.
    const Numbers last = all(decays[count - 1]);
    for (size_t d = 0; d < key_size_; ++d) decay(sum, sums, count, keys + d * count);
    for (size_t d = 0; d < key_size_; d += kChunk) {
      const size_t rows = std::min(kChunk, key_size_ - d);
      const Rows of(keys + d * count, count, rows);
      multiply_({of.at, corrections, value_size_, count, last.data(), kOne.data(), state + d * value_size_, value_size_,
                 value_size_, rows});
    }
  }

  Multiply multiply_;
  uint32_t state_;
  const States* states_ = nullptr;
  size_t samples_ = 0, tokens_ = 0, heads_ = 0, key_heads_ = 0, key_size_ = 0, value_size_ = 0;
  std::array<const float*, 5> inputs_{};
  float *output_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

Status create_gated_delta_rule(const CpuFeatures& cpu, const Model&, const fbs::Operator& op,
                               std::unique_ptr<Op>* out) {
  *out = std::make_unique<GatedDeltaRule>(cpu, op.params_as_GatedDeltaRule()->state());
  return {};
}

}  // namespace ferry::cpu
