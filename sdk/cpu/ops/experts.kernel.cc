// A mixture of experts. Rows are sorted by expert, so that the weights of each chosen expert are read once for all of
// its rows. Weights keep the blob's layout; a panel is transposed for the product if there are many rows, and
// dequantized if it is not Float32.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/model/elements.h"

namespace ferry::cpu {
namespace {

constexpr size_t kFewExpertRows = 8;            // maximum rows multiplied with the weights in place
constexpr size_t kFewOutputs = 4;               // outputs for which these rows stay in the L1 cache
constexpr size_t kExpertRows = kRowsAtOnce;     // rows multiplied with a panel at a time
constexpr size_t kBlockRows = 4 * kExpertRows;  // rows for which a panel is transposed once
constexpr size_t kStoredBlock = 32;             // integers that share a scale, as converter/quantize writes them
constexpr size_t kExpertDepth = 256;            // KC: inputs of a transposed panel, which stays in the L2 cache

FERRY_KERNEL void add_bias(float* to, const float* bias, size_t count) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) to[i] += bias[i];
}

FERRY_KERNEL void add_share(float* to, const float* from, size_t count, float share) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) to[i] += share * from[i];
}

// gate = activation(gate) * up.
FERRY_KERNEL void join_silu(float* gate, const float* up, size_t count) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) gate[i] = (gate[i] < -87.0f ? -87.0f : gate[i]) * sigmoid(gate[i]) * up[i];
}

FERRY_KERNEL void join_gelu_tanh(float* gate, const float* up, size_t count) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float x = gate[i], above = x < -87.0f ? -87.0f : x;  // where sigmoid() is not 0
    gate[i] = above * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x)) * up[i];
  }
}

FERRY_KERNEL void join_clamped(float* gate, const float* up, size_t count, float alpha, float limit) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float x = gate[i] > limit ? limit : gate[i];
    const float high = up[i] > limit ? limit : up[i], within = high < -limit ? -limit : high;
    const float y = alpha * x, above = y < -87.0f ? -87.0f / alpha : x;
    gate[i] = above * sigmoid(y) * (within + 1.0f);
  }
}

// The value of a BFloat16 or a Float16.
inline float scale_of(uint16_t bits, bool float16) {
  return float16 ? from_float16(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
}

// Blocks of kStoredBlock integers, each with a scale.
FERRY_KERNEL void unpack_bytes(const int8_t* from, const uint16_t* scales, bool float16, size_t blocks, float* to) {
  for (size_t b = 0; b < blocks; ++b, from += kStoredBlock, to += kStoredBlock) {
    const float scale = scale_of(scales[b], float16);
    FERRY_INDEPENDENT
    for (size_t i = 0; i < kStoredBlock; ++i) to[i] = static_cast<float>(from[i]) * scale;
  }
}

FERRY_KERNEL void unpack_nibbles(const uint8_t* from, const uint16_t* scales, bool float16, size_t blocks, float* to) {
  for (size_t b = 0; b < blocks; ++b, from += kStoredBlock / 2, to += kStoredBlock) {
    const float scale = scale_of(scales[b], float16);
    FERRY_INDEPENDENT
    for (size_t i = 0; i < kStoredBlock / 2; ++i) {
      to[2 * i] = static_cast<float>(((from[i] & 15) ^ 8) - 8) * scale;
      to[2 * i + 1] = static_cast<float>(((from[i] >> 4) ^ 8) - 8) * scale;
    }
  }
}

// One matrix per expert, stacked, and an optional bias.
class Stack {
 public:
  Stack(const Model& model, const fbs::Operator& op, unsigned weight, unsigned bias)
      : model_(model), op_(op), bias_input_(bias), stored_(model.stored(op.inputs()->Get(weight))) {
    rows_ = static_cast<size_t>(stored_.shape[1]);
    width_ = static_cast<size_t>(stored_.shape[2]);
    unpacked_ = stored_.type.dtype != fbs::DType::Float32;
  }

  [[gnu::cold]] Status read_bias() { return constant_input(model_, op_, bias_input_, &bias_); }

  size_t rows() const { return rows_; }
  size_t width() const { return width_; }
  // Bias of an expert; null: none.
  const float* bias(size_t expert) const { return bias_.data == nullptr ? nullptr : bias_.data + expert * rows_; }

  // Elements of `count` rows from `row`, columns from `first`, `stride` apart: in place, or dequantized to `room`.
  const float* read(size_t expert, size_t row, size_t count, size_t first, size_t columns, float* room,
                    size_t* stride) const {
    const size_t begin = (expert * rows_ + row) * width_ + first;
    *stride = unpacked_ ? columns : width_;
    if (!unpacked_) return reinterpret_cast<const float*>(stored_.bytes.data()) + begin;
    for (size_t i = 0; i < count; ++i) unpack(begin + i * width_, {room + i * columns, columns});
    return room;
  }

 private:
  void unpack(size_t begin, std::span<float> out) const {
    if (stored_.type.block != kStoredBlock || stored_.type.zero_point != 0 || begin % kStoredBlock != 0 ||
        out.size() % kStoredBlock != 0)
      return read_elements(stored_, begin, out);
    const auto* scales = reinterpret_cast<const uint16_t*>(stored_.scales.data()) + begin / kStoredBlock;
    const size_t blocks = out.size() / kStoredBlock;
    const bool float16 = stored_.scale_dtype == fbs::DType::Float16;
    if (stored_.type.dtype == fbs::DType::Int8)
      return unpack_bytes(reinterpret_cast<const int8_t*>(stored_.bytes.data()) + begin, scales, float16, blocks,
                          out.data());
    unpack_nibbles(reinterpret_cast<const uint8_t*>(stored_.bytes.data()) + begin / 2, scales, float16, blocks,
                   out.data());
  }

  const Model& model_;
  const fbs::Operator& op_;
  unsigned bias_input_;
  StoredConstant stored_;
  size_t rows_ = 0, width_ = 0;
  bool unpacked_ = false;
  FloatConstant bias_;
};

class Experts : public Op {
 public:
  Experts(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op)
      : params_(*op.params_as_Experts()),
        multiply_(widest_multiply(cpu)),
        gate_up_(model, op, 3, 5),
        down_(model, op, 4, 6),
        experts_(static_cast<size_t>(model.shape(op.inputs()->Get(3))[0])) {
    ones_.fill(1.0f);
  }

  [[gnu::cold]] Status read_biases() {
    FERRY_TRY(gate_up_.read_bias());
    return down_.read_bias();
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    chosen_each_ = static_cast<size_t>(inputs[1][inputs[1].rank - 1]);
    rows_ = elements(output) / down_.rows() * chosen_each_;
    const size_t hidden = padded_size(rows_ * down_.width() * sizeof(float));
    const size_t lists = padded_size((rows_ + 2 * experts_ + 2) * sizeof(uint32_t));
    hidden_bytes_ = hidden;
    list_bytes_ = lists;
    *workspace = uint64_t{hidden} + lists + uint64_t{sizeof(float)} * pool->threads() * scratch_size();
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    chosen_ = static_cast<const int32_t*>(inputs[1]);
    shares_ = floats(inputs[2]);
    output_ = floats(output);
    std::byte* bytes = static_cast<std::byte*>(workspace);
    hidden_ = reinterpret_cast<float*>(bytes);
    order_ = reinterpret_cast<uint32_t*>(bytes + hidden_bytes_);
    begins_ = order_ + rows_;
    used_ = begins_ + experts_ + 1;
    scratch_ = reinterpret_cast<float*>(bytes + hidden_bytes_ + list_bytes_);
    return {};
  }

  Status run(Pool* pool) override {
    FERRY_TRY(sort());
    const Grid<2, 0> inner{{used_count_, panels(down_.width())}};
    parallel(pool, inner, [&](Pool::Share& share, size_t expert, size_t panel) {
      compute_hidden(*pool, share.thread(), used_[expert], panel * kPanel);
    });
    const Grid<1, 0> outer{{panels(down_.rows())}};
    parallel(pool, outer, [&](Pool::Share& share, size_t panel) { add_up(*pool, share.thread(), panel * kPanel); });
    return {};
  }

 private:
  static size_t panels(size_t columns) { return (columns + kPanel - 1) / kPanel; }
  static constexpr size_t kTile = kBlockRows * kPanel;
  size_t unpacked_size() const {
    return std::max(kExpertDepth * kPanel, kFewOutputs * std::max(gate_up_.width(), down_.width()));
  }
  // Scratch: a transposed panel, dequantized weights, and products for gates and for ups.
  size_t scratch_size() const { return kExpertDepth * kPanel + unpacked_size() + 2 * kTile; }

  // Sorts rows by expert, earlier tokens first; order_[i] is the index in `chosen` of the i-th row.
  Status sort() {
    std::fill_n(begins_, experts_ + 1, 0u);
    for (size_t i = 0; i < rows_; ++i) {
      if (chosen_[i] < 0 || static_cast<size_t>(chosen_[i]) >= experts_)
        return error(FERRY_INVALID_ARGUMENT, "experts: expert %d was chosen, expected 0 to %zu", chosen_[i],
                     experts_ - 1);
      ++begins_[chosen_[i] + 1];
    }
    used_count_ = 0;
    for (size_t e = 0; e < experts_; ++e) {
      if (begins_[e + 1] > 0) used_[used_count_++] = static_cast<uint32_t>(e);
      begins_[e + 1] += begins_[e];
    }
    for (size_t i = 0; i < rows_; ++i) order_[begins_[chosen_[i]]++] = static_cast<uint32_t>(i);
    for (size_t e = experts_; e > 0; --e) begins_[e] = begins_[e - 1];
    begins_[0] = 0;
    return {};
  }

  // Computes the products of `count` rows with `width` matrix rows from `first`, kPanel apart.
  void multiply(const float* const* rows, size_t count, const Stack& stack, size_t expert, size_t first, size_t width,
                float* scratch, float* to) const {
    float *panel = scratch, *room = scratch + kExpertDepth * kPanel;
    size_t stride = 0;
    if (count <= kFewExpertRows) {
      for (size_t j = 0; j < width; j += kFewOutputs) {
        const size_t outputs = std::min(kFewOutputs, width - j);
        const float* weights = stack.read(expert, first + j, outputs, 0, stack.width(), room, &stride);
        for (size_t i = 0; i < count; ++i)
          multiply_rows(rows[i], weights, stride, stack.width(), outputs, 1.0f, to + i * kPanel + j);
      }
      return;
    }
    for (size_t k = 0; k < stack.width(); k += kExpertDepth) {
      const size_t depth = std::min(kExpertDepth, stack.width() - k);
      const float* weights = stack.read(expert, first, width, k, depth, room, &stride);
      transpose(weights, stride, width, depth, panel, kPanel);
      for (size_t begin = 0; begin < count; begin += kExpertRows) {
        const size_t tile = std::min(kExpertRows, count - begin);
        const float* lines[kExpertRows];
        for (size_t i = 0; i < kExpertRows; ++i)  // repeats the last row
          lines[i] = rows[begin + std::min(i, tile - 1)] + k;
        multiply_({lines, panel, kPanel, depth, (k == 0 ? zeros_ : ones_).data(), ones_.data(), to + begin * kPanel,
                   kPanel, width, tile});
      }
    }
  }

  // Computes activation(gates) * ups for an expert's rows, columns from `first`.
  void compute_hidden(const Pool& pool, size_t thread, size_t expert, size_t first) const {
    const size_t hidden = down_.width(), width = std::min(kPanel, hidden - first);
    float* scratch = scratch_ + thread * scratch_size();
    float *gates = scratch + scratch_size() - 2 * kTile, *ups = gates + kTile;
    for (size_t begin = begins_[expert]; begin < begins_[expert + 1] && !pool.cancelled(); begin += kBlockRows) {
      const size_t count = std::min<size_t>(kBlockRows, begins_[expert + 1] - begin);
      const float* rows[kBlockRows];
      for (size_t i = 0; i < count; ++i) rows[i] = input_ + order_[begin + i] / chosen_each_ * gate_up_.width();
      multiply(rows, count, gate_up_, expert, first, width, scratch, gates);
      multiply(rows, count, gate_up_, expert, hidden + first, width, scratch, ups);
      for (size_t i = 0; i < count; ++i) {
        float *gate = gates + i * kPanel, *up = ups + i * kPanel;
        if (const float* bias = gate_up_.bias(expert)) {
          add_bias(gate, bias + first, width);
          add_bias(up, bias + hidden + first, width);
        }
        join(gate, up, width);
        std::copy_n(gate, width, hidden_ + (begin + i) * hidden + first);
      }
    }
  }

  void join(float* gate, const float* up, size_t count) const {
    switch (params_.activation()) {
      case fbs::ExpertsActivation::Silu: return join_silu(gate, up, count);
      case fbs::ExpertsActivation::GeluTanh: return join_gelu_tanh(gate, up, count);
      case fbs::ExpertsActivation::ClampedSwish: return join_clamped(gate, up, count, params_.alpha(), params_.limit());
    }
  }

  // Computes output columns from `first`. Experts are added in order, so that results do not depend on the threads.
  void add_up(const Pool& pool, size_t thread, size_t first) const {
    const size_t channels = down_.rows(), width = std::min(kPanel, channels - first);
    float *scratch = scratch_ + thread * scratch_size(), *products = scratch + scratch_size() - 2 * kTile;
    for (size_t token = 0; token < rows_ / chosen_each_; ++token)
      std::fill_n(output_ + token * channels + first, width, 0.0f);
    for (size_t u = 0; u < used_count_; ++u) {
      const size_t expert = used_[u];
      for (size_t begin = begins_[expert]; begin < begins_[expert + 1] && !pool.cancelled(); begin += kBlockRows) {
        const size_t count = std::min<size_t>(kBlockRows, begins_[expert + 1] - begin);
        const float* rows[kBlockRows];
        for (size_t i = 0; i < count; ++i) rows[i] = hidden_ + (begin + i) * down_.width();
        multiply(rows, count, down_, expert, first, width, scratch, products);
        for (size_t i = 0; i < count; ++i) {
          float* product = products + i * kPanel;
          if (const float* bias = down_.bias(expert)) add_bias(product, bias + first, width);
          const size_t place = order_[begin + i];
          add_share(output_ + place / chosen_each_ * channels + first, product, width, shares_[place]);
        }
      }
    }
  }

  const fbs::Experts& params_;
  const Multiply multiply_;
  Stack gate_up_, down_;
  const size_t experts_;
  std::array<float, kExpertRows> zeros_{}, ones_;
  size_t chosen_each_ = 0, rows_ = 0;  // entries of `chosen` per token; rows of all experts
  size_t hidden_bytes_ = 0, list_bytes_ = 0, used_count_ = 0;
  const float *input_ = nullptr, *shares_ = nullptr;
  const int32_t* chosen_ = nullptr;
  // begins_[e]: the first row of expert e, which ends at begins_[e + 1]; used_: the experts that have rows.
  uint32_t *order_ = nullptr, *begins_ = nullptr, *used_ = nullptr;
  float *hidden_ = nullptr, *scratch_ = nullptr, *output_ = nullptr;
};

}  // namespace

Status create_experts(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto experts = std::make_unique<Experts>(cpu, model, op);
  FERRY_TRY(experts->read_biases());
  *out = std::move(experts);
  return {};
}

}  // namespace ferry::cpu
