// softmax(scale * q k^T, capped, + biases) v, for a block of queries of one head at a time. The scores of a run of keys
// are on the stack; the softmax is rescaled from run to run as its maximum grows (Milakov and Gimelshein 2018, online
// softmax). Keys that no query of the block attends to are skipped. float16 operands, and states in fewer bits, are
// converted where they are packed; everything is computed in float32.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/elementwise/state_elements.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/ops/attention_in_place.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/graph/states.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

constexpr size_t kQueries = kRowsAtOnce;  // per block: keys and values are read from the L2 cache once per block
constexpr size_t kKeys = 256;             // scores on the stack per query
constexpr size_t kTasksPerThread = 4;     // so that no thread waits long for the last task

FERRY_KERNEL void add(float* row, size_t count, const float* bias) {
  for (size_t s = 0; s < count; ++s) row[s] += bias[s];
}

// Pads a row to a multiple of kParts with negligible scores and returns its maximum.
FERRY_KERNEL float fill_and_find_maximum(float* row, size_t count) {
  const size_t last = (count - 1) / kParts * kParts;
  for (size_t k = 0; k < kParts; ++k)
    row[last + k] = last + k < count ? row[last + k] : -std::numeric_limits<float>::infinity();
  float maximum[kParts];
  std::copy_n(row, kParts, maximum);
  for (size_t s = kParts; s <= last; s += kParts) {
#pragma GCC unroll 1  // if unrolled, gcc compares elements one by one
    for (size_t k = 0; k < kParts; ++k) maximum[k] = row[s + k] > maximum[k] ? row[s + k] : maximum[k];
  }
  return reduce(maximum, [](Quad x, Quad y) { return x > y ? x : y; });
}

// row = e^(row - maximum), padded to a multiple of kParts. Returns the sum of the first `count`.
FERRY_KERNEL float exponentiate(float* row, size_t count, float maximum) {
  float sums[kParts] = {};
  for (size_t s = 0; s < count; s += kParts) {
    for (size_t k = 0; k < kParts; ++k) {
      row[s + k] = softmax_exponential(row[s + k] - maximum);
      sums[k] += row[s + k];
    }
  }
  const float behind = static_cast<float>((kParts - count % kParts) % kParts) * softmax_exponential(kSoftmaxMinimum);
  return reduce(sums, [](Quad x, Quad y) { return x + y; }) - behind;
}

struct Bias {
  const void* data = nullptr;
  size_t samples = 1, heads = 1, queries = 1;

  size_t row(size_t n, size_t head, size_t query) const {
    return (n % samples * heads + head % heads) * queries + query % queries;
  }
};

// Which operands are float16: all if q is, except constant biases.
struct Float16Operands {
  bool operands = false;
  std::array<bool, 2> biases{};
};

// The states whose rows are keys and values; -1: others.
using StatesRead = std::array<int, 2>;

StatesRead states_read(const Model& model, const fbs::Operator& attention) {
  StatesRead read = {-1, -1};
  for (const fbs::Operator* op : *model.graph().operators())
    for (unsigned i = 0; op->params_type() == fbs::OpParams::Append && i < read.size(); ++i)
      if (output_of(*op) == attention.inputs()->Get(1 + i)) read[i] = static_cast<int>(state_of(*op));
  return read;
}

// A range of keys.
struct Keys {
  size_t begin, end;
};

class Attention : public Op {
 public:
  Attention(const CpuFeatures& cpu, const fbs::Attention& params, const Float16Operands& float16s,
            const StatesRead& states)
      : multiply_(widest_multiply(cpu)),
        float16_(float16s),
        states_(states),
        heads_(static_cast<size_t>(params.heads())),
        kv_heads_(static_cast<size_t>(params.kv_heads())),
        scale_(params.scale()),
        softcap_(params.softcap()),
        causal_(params.causal()),
        has_sinks_(params.sinks()),
        window_(static_cast<size_t>(params.window())) {
    if (has_float16())
      for (StateElements& stored : stored_) stored.dtype = fbs::DType::Float16;
  }

  [[gnu::cold]] void set_states(const States& states) override {
    for (size_t i = 0; i < states_.size(); ++i)
      if (states_[i] >= 0) stored_[i] = StateElements(states.shapes()[static_cast<size_t>(states_[i])]);
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    const Shape &q = inputs[0], &v = inputs[2];
    samples_ = static_cast<size_t>(q[0]);
    queries_ = static_cast<size_t>(q[1]);
    keys_ = static_cast<size_t>(v[1]);
    key_size_ = static_cast<size_t>(q[2]) / heads_;
    value_size_ = static_cast<size_t>(v[2]) / kv_heads_;
    for (size_t i = 3; i < biases_end(inputs.size()); ++i) {
      const Shape& b = inputs[i];
      biases_[i - 3] = {nullptr, static_cast<size_t>(b[0]), static_cast<size_t>(b[1]), static_cast<size_t>(b[2])};
    }
    const size_t threads = pool->threads(), products = samples_ * kv_heads_;
    in_place_ = causal_ && biases_end(inputs.size()) == 3 && queries_ * (heads_ / kv_heads_) <= kFewQueries;
    if (in_place_) {
      part_ = threads == 1 ? kv_heads_ : std::max<size_t>(kv_heads_ / (kTasksPerThread * threads), 1);
      scratch_ = few_queries(0).scratch(part_);
      *workspace = uint64_t{sizeof(float)} * threads * scratch_;
      return {};
    }
    const size_t blocks = (queries_ + kQueries - 1) / kQueries;
    const size_t parts = threads == 1 ? 1 : std::min((kTasksPerThread * threads + products - 1) / products, blocks);
    part_ = (blocks + parts - 1) / parts * kQueries;
    scratch_ = packed_size() + (stored_[0].fewer_bits() ? uint64_t{kQueries} * (key_size_ + value_size_) : 0);
    *workspace = uint64_t{sizeof(float)} * threads * scratch_;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    for (size_t i = 0; i < 3; ++i) inputs_[i] = inputs[i];
    for (size_t i = 3; i < biases_end(inputs.size()); ++i) biases_[i - 3].data = inputs[i];
    if (has_sinks_) sinks_ = floats(inputs.back());
    output_ = output;
    workspace_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    if (in_place_) {
      const Grid<2, 1> grid{{samples_, kv_heads_}, {part_}};
      parallel(pool, grid, [&](Pool::Share& share, size_t n, size_t head, size_t heads) {
        attend_in_place(few_queries(n), head, heads, workspace_ + share.thread() * scratch_);
      });
      return {};
    }
    const Grid<2, 0> grid{{samples_ * kv_heads_, (queries_ + part_ - 1) / part_}};
    parallel(pool, grid,
             [&](Pool::Share& share, size_t head, size_t part) { attend(*pool, share.thread(), head, part); });
    return {};
  }

 private:
  size_t biases_end(size_t inputs) const { return inputs - (has_sinks_ ? 1 : 0); }
  size_t padded_keys() const { return (keys_ + kPanel - 1) / kPanel * kPanel; }
  uint64_t packed_size() const {
    return uint64_t{padded_keys()} * key_size_ + (keys_ * value_size_ + kParts - 1) / kParts * kParts;
  }

  FewQueries few_queries(size_t n) const {
    return {.q = floats(inputs_[0]) + n * queries_ * heads_ * key_size_,
            .k = inputs_[1],
            .v = inputs_[2],
            .first_key = n * keys_,
            .keys_stored = stored_[0],
            .values_stored = stored_[1],
            .sinks = sinks_,
            .y = floats(output_) + n * queries_ * heads_ * value_size_,
            .queries = queries_,
            .keys = keys_,
            .kv_heads = kv_heads_,
            .group = heads_ / kv_heads_,
            .key_size = key_size_,
            .value_size = value_size_,
            .window = window_,
            .scale = scale_,
            .softcap = softcap_};
  }

  bool has_float16() const { return built_in(Feature::Float16) && float16_.operands; }

  // The union of the keys that queries [first, end) attend to.
  Keys seen_by(size_t first, size_t end) const {
    if (!causal_) return {0, keys_};
    const size_t before = keys_ - queries_;
    const size_t behind = window_ > 0 && before + first + 1 > window_ ? before + first + 1 - window_ : 0;
    return {behind, before + end};
  }

  void attend(const Pool& pool, size_t thread, size_t index, size_t part) const {
    const size_t n = index / kv_heads_, kv_head = index % kv_heads_, group = heads_ / kv_heads_;
    const size_t begin = part * part_, end = std::min(begin + part_, queries_);
    float* keys = workspace_ + thread * scratch_;
    float* values = keys + padded_keys() * key_size_;
    float* wide = keys + packed_size();  // for float16 operands
    const Keys seen = seen_by(begin, end);
    pack_keys((n * keys_ * kv_heads_ + kv_head) * key_size_, seen, keys, wide);
    pack_values((n * keys_ * kv_heads_ + kv_head) * value_size_, seen, values);
    for (size_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (size_t first = begin; first < end && !pool.cancelled(); first += kQueries)
        attend_block(n, head, first, keys, values, wide);
  }

  // Packs keys into panels of kPanel keys: element by element for all keys of the panel; zeros after the last key.
  void pack_keys(size_t at, const Keys& seen, float* to, float* wide) const {
    const size_t row = kv_heads_ * key_size_, stride = stored_[0].fewer_bits() ? key_size_ : row;
    for (size_t s = seen.begin / kPanel * kPanel; s < (seen.end + kParts - 1) / kParts * kParts; s += 4) {
      float* column = to + s / kPanel * kPanel * key_size_ + s % kPanel;
      const size_t keys = std::min<size_t>(4, keys_ - std::min(keys_, s));
      const float* from = floats(inputs_[1]) + at + s * row;
      if (stored_[0].fewer_bits()) {
        for (size_t i = 0; i < keys; ++i)
          stored_[0].load(inputs_[1], at + (s + i) * row, key_size_, wide + i * key_size_);
        from = wide;
      }
      size_t d = 0;
      for (; keys == 4 && d + 4 <= key_size_; d += 4) transpose_square(from + d, stride, column + d * kPanel, kPanel);
      for (; d < key_size_; ++d)
        for (size_t i = 0; i < 4; ++i) column[d * kPanel + i] = i < keys ? from[i * stride + d] : 0.0f;
    }
  }

  void pack_values(size_t at, const Keys& seen, float* to) const {
    for (size_t s = seen.begin / kPanel * kPanel; s < seen.end; ++s)
      stored_[1].load(inputs_[2], at + s * kv_heads_ * value_size_, value_size_, to + s * value_size_);
  }

  // Computes queries from `first`. `wide`: scratch for float16 queries and results.
  void attend_block(size_t n, size_t head, size_t first, const float* keys, const float* values, float* wide) const {
    const size_t rows = std::min(kQueries, queries_ - first);
    const size_t row = (n * queries_ + first) * heads_ + head;  // of the first query; rows of a query are `heads_`
    const float* q = wide;
    float* y = wide + kQueries * key_size_;
    if (!has_float16()) {
      q = floats(inputs_[0]) + row * key_size_;
      y = floats(output_) + row * value_size_;
      attend_rows({n, head, first, rows}, q, heads_ * key_size_, keys, values, y, heads_ * value_size_);
      return;
    }
    for (size_t i = 0; i < rows; ++i)
      widen(float16s(inputs_[0]) + (row + i * heads_) * key_size_, wide + i * key_size_, key_size_);
    attend_rows({n, head, first, rows}, q, key_size_, keys, values, y, value_size_);
    for (size_t i = 0; i < rows; ++i)
      narrow(y + i * value_size_, float16s(output_) + (row + i * heads_) * value_size_, value_size_);
  }

  // Queries of one head, at most kQueries.
  struct Block {
    size_t n, head, first, rows;
  };

  void attend_rows(const Block& block, const float* from, size_t from_stride, const float* keys, const float* values,
                   float* y, size_t y_stride) const {
    const auto [n, head, first, rows] = block;
    const size_t tile_rows = (rows + kTileRows - 1) / kTileRows * kTileRows;
    const float* q[kQueries];
    for (size_t i = 0; i < kQueries; ++i)  // repeats the last query
      q[i] = from + std::min(i, rows - 1) * from_stride;

    float maximum[kQueries], sums[kQueries] = {}, keep[kQueries] = {}, factor[kQueries], scale[kQueries];
    // finite, since keys may be masked by -infinity
    std::fill_n(maximum, kQueries, std::numeric_limits<float>::lowest());
    std::fill_n(scale, kQueries, scale_);
    if (has_sinks_) {  // before the first key
      std::fill_n(maximum, kQueries, sinks_[head]);
      std::fill_n(sums, kQueries, 1.0f);
    }
    alignas(64) float scores[kQueries][kKeys + kParts];
    const float* weights[kQueries];
    for (size_t i = 0; i < kQueries; ++i) weights[i] = scores[i];
    const Keys seen = seen_by(first, first + rows);
    const size_t start = seen.begin / kPanel * kPanel;
    for (size_t begin = start; begin < seen.end; begin += kKeys) {
      const size_t count = std::min(kKeys, seen.end - begin);
      std::fill_n(keep, rows, 0.0f);
      for (size_t s = 0; s < count; s += kPanel) {
        const size_t width = std::min(kPanel, (count - s + kParts - 1) / kParts * kParts);
        multiply_({q, keys + (begin + s) * key_size_, kPanel, key_size_, keep, scale, scores[0] + s, kKeys + kParts,
                   width, tile_rows});
      }
      for (size_t i = 0; i < rows; ++i) {
        if (softcap_ > 0) cap(scores[i], count, softcap_);
        if (causal_) hide(seen_by(first + i, first + i + 1), begin, count, scores[i]);
        for (size_t b = 0; b < biases_.size(); ++b)
          if (biases_[b].data != nullptr)
            add_bias(b, biases_[b].row(n, head, first + i) * keys_ + begin, count, scores[i]);
        const float new_maximum = std::max(maximum[i], fill_and_find_maximum(scores[i], count));
        sums[i] *= std::exp(maximum[i] - new_maximum);
        maximum[i] = new_maximum;
      }
      // A separate loop, so that no row waits for its maximum.
      for (size_t i = 0; i < rows; ++i) {
        const float before = sums[i];
        sums[i] += exponentiate(scores[i], count, maximum[i]);
        factor[i] = 1.0f / sums[i];
        keep[i] = begin == start ? 0.0f : before * factor[i];
      }
      multiply_(
          {weights, values + begin * value_size_, value_size_, count, keep, factor, y, y_stride, value_size_, rows});
    }
  }

  void add_bias(size_t index, size_t at, size_t count, float* scores) const {
    const void* data = biases_[index].data;
    if constexpr (built_in(Feature::Float16))
      if (float16_.biases[index]) {
        float wide[kKeys];
        widen(float16s(data) + at, wide, count);
        return add(scores, count, wide);
      }
    add(scores, count, floats(data) + at);
  }

  // Masks those of `count` scores from key `begin` that the query does not attend to.
  static void hide(const Keys& seen, size_t begin, size_t count, float* scores) {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    if (seen.begin > begin) std::fill_n(scores, std::min(count, seen.begin - begin), kHidden);
    const size_t visible = seen.end > begin ? seen.end - begin : 0;
    if (visible < count) std::fill(scores + visible, scores + count, kHidden);
  }

  const Multiply multiply_;
  const Float16Operands float16_;
  const StatesRead states_;
  std::array<StateElements, 2> stored_;  // keys and values
  size_t heads_, kv_heads_;
  float scale_, softcap_;
  bool causal_, has_sinks_, in_place_ = false;
  size_t window_;
  size_t samples_ = 0, queries_ = 0, keys_ = 0, key_size_ = 0, value_size_ = 0;
  std::array<Bias, 2> biases_;
  std::array<const void*, 3> inputs_{};
  const float* sinks_ = nullptr;
  void* output_ = nullptr;
  size_t part_ = 0;
  uint64_t scratch_ = 0;  // elements per thread
  float* workspace_ = nullptr;
};

}  // namespace

Status create_attention(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Attention>(cpu, *op.params_as_Attention(), Float16Operands(), states_read(model, op));
  return {};
}

// Not for causal attention: its keys and values are states, which a run must not copy.
Status create_float16_attention(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                                std::unique_ptr<Op>* out) {
  const fbs::Attention& params = *op.params_as_Attention();
  Float16Operands float16s{.operands = true};
  for (unsigned i = 0; i < op.inputs()->size(); ++i) {
    const bool constant = model.is_constant(op.inputs()->Get(i));
    if (i < 3 && constant) return {};
    if (i >= 3 && i - 3 < float16s.biases.size()) float16s.biases[i - 3] = !constant;
  }
  if (!params.causal() && !params.sinks())
    *out = std::make_unique<Attention>(cpu, params, float16s, StatesRead{-1, -1});
  return {};
}

}  // namespace ferry::cpu
