// The gated delta rule for a chunk of tokens (Yang et al., arXiv:2412.06464, section 3.3). G_i is the sum of g from the
// chunk's begin to token i, S the state before the chunk:
//
//     D_i = beta_i (v_i - e^G_i k_i S - sum over j < i of e^(G_i - G_j) (k_i k_j) D_j)
//     y_i = e^G_i q_i S + sum over j <= i of e^(G_i - G_j) (q_i k_j) D_j
//     S'  = e^G_last S + sum over j of e^(G_last - G_j) k_j^T D_j
//
// A chunk of one token is the recurrent rule. Everything is accumulated in double: D_i is the difference of v_i and its
// prediction by the state, and later tokens inherit the error of each.
#include <algorithm>
#include <cmath>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/graph/states.h"

namespace ferry::cpu {
namespace {

constexpr size_t kChunkTokens = 64;  // tokens per chunk
constexpr size_t kValueBlock = 64;   // elements of a value whose sums are held at a time

// sums[e] += sum over j of factors[j] * rows[j * stride + e].
FERRY_KERNEL void add_rows(const double* factors, const float* rows, size_t stride, size_t count, size_t width,
                           double* sums) {
  size_t j = 0;
  for (; j + 2 <= count; j += 2, rows += 2 * stride) {  // reads and writes the sums half as often
    const double first = factors[j], second = factors[j + 1];
    FERRY_INDEPENDENT
    for (size_t e = 0; e < width; ++e)
      sums[e] = (sums[e] + first * static_cast<double>(rows[e])) + second * static_cast<double>(rows[stride + e]);
  }
  if (j == count) return;
  const double last = factors[j];
  FERRY_INDEPENDENT
  for (size_t e = 0; e < width; ++e) sums[e] += last * static_cast<double>(rows[e]);
}

FERRY_KERNEL double product(const float* a, const float* b, size_t size) {
  double parts[8] = {};
  for (size_t d = 0; d + 8 <= size; d += 8)
    for (size_t k = 0; k < 8; ++k) parts[k] += static_cast<double>(a[d + k]) * static_cast<double>(b[d + k]);
  double sum = 0;
  for (size_t d = size / 8 * 8; d < size; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  for (const double part : parts) sum += part;
  return sum;
}

// One head's tokens of a chunk. Rows of q and k are `key_stride` apart, those of v and y `value_stride`, elements of g
// and beta `heads`.
struct Chunk {
  const float *q, *k, *v, *g, *beta;
  float *state, *left;     // S, rounded, and its rounding error: [key_size, value_size]
  float *corrections, *y;  // D [count, value_size]
  size_t count, heads, key_stride, value_stride, key_size, value_size;
};

// Computes token `i` of the chunk. decays[j]: decay since token j <= i; `decay`: since the chunk's begin.
FERRY_KERNEL void take_token(const Chunk& c, size_t i, double decay, const double* decays) {
  const float *q = c.q + i * c.key_stride, *k = c.k + i * c.key_stride;
  const double beta = static_cast<double>(c.beta[i * c.heads]);
  double known[kChunkTokens], seen[kChunkTokens];
  for (size_t j = 0; j <= i; ++j) {
    known[j] = -decays[j] * product(k, c.k + j * c.key_stride, c.key_size);
    seen[j] = decays[j] * product(q, c.k + j * c.key_stride, c.key_size);
  }
  for (size_t begin = 0; begin < c.value_size; begin += kValueBlock) {
    const size_t width = std::min(kValueBlock, c.value_size - begin);
    double missed[kValueBlock] = {}, found[kValueBlock] = {};
    for (size_t d = 0; d < c.key_size; ++d) {
      const double key = static_cast<double>(k[d]), query = static_cast<double>(q[d]);
      const float *row = c.state + d * c.value_size + begin, *left = c.left + d * c.value_size + begin;
      for (size_t e = 0; e < width; ++e) {
        const double state = static_cast<double>(row[e]) + static_cast<double>(left[e]);
        missed[e] += key * state;
        found[e] += query * state;
      }
    }
    const float* v = c.v + i * c.value_stride + begin;
    float *corrections = c.corrections + begin, *y = c.y + i * c.value_stride + begin;
    for (size_t e = 0; e < width; ++e) missed[e] = static_cast<double>(v[e]) - decay * missed[e];
    add_rows(known, corrections, c.value_size, i, width, missed);
    for (size_t e = 0; e < width; ++e) {
      corrections[i * c.value_size + e] = static_cast<float>(beta * missed[e]);
      found[e] *= decay;
    }
    add_rows(seen, corrections, c.value_size, i + 1, width, found);
    for (size_t e = 0; e < width; ++e) y[e] = static_cast<float>(found[e]);
  }
}

// Updates row `d` of the state: it decays by `decay`, and token j's contribution by decays[j].
FERRY_KERNEL void leave_row(const Chunk& c, size_t d, double decay, const double* decays) {
  double keys[kChunkTokens];
  for (size_t j = 0; j < c.count; ++j) keys[j] = decays[j] * static_cast<double>(c.k[j * c.key_stride + d]);
  for (size_t begin = 0; begin < c.value_size; begin += kValueBlock) {
    const size_t width = std::min(kValueBlock, c.value_size - begin);
    float *row = c.state + d * c.value_size + begin, *left = c.left + d * c.value_size + begin;
    double sums[kValueBlock];
    for (size_t e = 0; e < width; ++e) sums[e] = decay * (static_cast<double>(row[e]) + static_cast<double>(left[e]));
    add_rows(keys, c.corrections + begin, c.value_size, c.count, width, sums);
    for (size_t e = 0; e < width; ++e) {
      row[e] = static_cast<float>(sums[e]);
      left[e] = static_cast<float>(sums[e] - static_cast<double>(row[e]));
    }
  }
}

void take(const Chunk& c) {
  double sums[kChunkTokens], decays[kChunkTokens], sum = 0;
  for (size_t i = 0; i < c.count; ++i) {
    sums[i] = sum += static_cast<double>(c.g[i * c.heads]);
    for (size_t j = 0; j <= i; ++j) decays[j] = std::exp(sum - sums[j]);
    take_token(c, i, std::exp(sum), decays);
  }
  for (size_t d = 0; d < c.key_size; ++d) leave_row(c, d, std::exp(sum), decays);
}

class GatedDeltaRule : public Op {
 public:
  explicit GatedDeltaRule(uint32_t state) : state_(state) {}

  void set_states(const States& states) override { states_ = &states; }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    const Shape& state = states_->shapes()[state_].bound;
    samples_ = static_cast<size_t>(state[1]);
    heads_ = static_cast<size_t>(state[2]);
    key_size_ = static_cast<size_t>(state[3]);
    value_size_ = static_cast<size_t>(state[4]);
    tokens_ = static_cast<size_t>(inputs[0][1]);
    key_heads_ = static_cast<size_t>(inputs[0][2]) / key_size_;
    *workspace = uint64_t{sizeof(float)} * pool->threads() * scratch_size();
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
    parallel(pool, Grid<1, 0>{{samples_ * heads_}}, [&](Pool::Share& share, size_t index) {
      const size_t token = index / heads_ * tokens_, head = index % heads_;
      const size_t key = token * key_heads_ * key_size_ + head / (heads_ / key_heads_) * key_size_;
      const size_t value = token * heads_ * value_size_ + head * value_size_, place = token * heads_ + head;
      float *state = after + index * size, *left = state + samples_ * heads_ * size;
      std::copy_n(before + index * size, size, state);
      std::copy_n(before + (samples_ * heads_ + index) * size, size, left);
      Chunk c = {.q = inputs_[0] + key,
                 .k = inputs_[1] + key,
                 .v = inputs_[2] + value,
                 .g = inputs_[3] + place,
                 .beta = inputs_[4] + place,
                 .state = state,
                 .left = left,
                 .corrections = scratch_ + share.thread() * scratch_size(),
                 .y = output_ + value,
                 .count = 0,
                 .heads = heads_,
                 .key_stride = key_heads_ * key_size_,
                 .value_stride = heads_ * value_size_,
                 .key_size = key_size_,
                 .value_size = value_size_};
      for (size_t first = 0; first < tokens_ && !pool->cancelled(); first += kChunkTokens) {
        c.count = std::min(kChunkTokens, tokens_ - first);
        take(c);
        c.q += c.count * c.key_stride;
        c.k += c.count * c.key_stride;
        c.v += c.count * c.value_stride;
        c.y += c.count * c.value_stride;
        c.g += c.count * heads_;
        c.beta += c.count * heads_;
      }
    });
    return {};
  }

 private:
  size_t scratch_size() const { return std::min(kChunkTokens, tokens_) * value_size_; }

  uint32_t state_;
  const States* states_ = nullptr;
  size_t samples_ = 0, tokens_ = 0, heads_ = 0, key_heads_ = 0, key_size_ = 0, value_size_ = 0;
  std::array<const float*, 5> inputs_{};
  float *output_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

Status create_gated_delta_rule(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<GatedDeltaRule>(op.params_as_GatedDeltaRule()->state());
  return {};
}

}  // namespace ferry::cpu
