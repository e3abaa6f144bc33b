#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/int8/int8.h"
#include "sdk/cpu/ops/move.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

class Pad : public MoveOp {
 public:
  // value: a 32-bit word; two copies of a float16 value, four of an Int8 one.
  Pad(const fbs::Pad& params, uint32_t value, size_t element_bytes)
      : MoveOp(element_bytes), params_(params), value_(value) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    // Merges inner dimensions without padding into the next outer one.
    rank_ = 0;
    for (int i = x.rank; i-- > 0;) {
      const auto size = static_cast<size_t>(x[i]);
      const auto before = static_cast<size_t>(params_.before()->Get(static_cast<unsigned>(i)));
      Dimension d{size, before, static_cast<size_t>(output[i]) - before - size};
      if (rank_ > 0 && dims_[rank_ - 1].before == 0 && dims_[rank_ - 1].after == 0) {
        const size_t inner = dims_[--rank_].size;
        d = {d.size * inner, d.before * inner, d.after * inner};
      }
      dims_[rank_++] = d;
    }
    if (rank_ == 0) dims_[rank_++] = {1, 0, 0};
    rows_ = 1;
    for (size_t i = 1; i < rank_; ++i) rows_ *= dims_[i].padded();
    return {};
  }

  Status run(Pool* pool) override {
    parallel_rows(pool, rows_, dims_[0].padded(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) row(i);
    });
    return {};
  }

 private:
  struct Dimension {
    size_t size, before, after;
    size_t padded() const { return before + size + after; }
  };

  void row(size_t index) const {
    const Dimension& inner = dims_[0];
    std::byte* to = output_ + index * inner.padded() * element_bytes_;
    size_t source = 0, stride = 1;
    for (size_t i = 1; i < rank_; ++i) {
      const size_t at = index % dims_[i].padded();
      index /= dims_[i].padded();
      if (at < dims_[i].before || at >= dims_[i].before + dims_[i].size) {
        fill(to, inner.padded());
        return;
      }
      source += (at - dims_[i].before) * stride;
      stride *= dims_[i].size;
    }
    to = fill(to, inner.before);
    const size_t bytes = inner.size * element_bytes_;
    std::memcpy(to, input_ + source * bytes, bytes);
    fill(to + bytes, inner.after);
  }

  // Writes the padding after the last row.
  std::byte* fill(std::byte* to, size_t count) const {
    std::byte* const end = to + count * element_bytes_;
    for (; to + sizeof value_ <= end; to += sizeof value_) std::memcpy(to, &value_, sizeof value_);
    std::memcpy(to, &value_, static_cast<size_t>(end - to));
    return end;
  }

  const fbs::Pad& params_;
  const uint32_t value_;
  std::array<Dimension, FERRY_MAX_RANK> dims_{};  // innermost first
  size_t rank_ = 0;
  size_t rows_ = 0;
};

}  // namespace

Status create_pad(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Pad& p = *op.params_as_Pad();
  if (is_int8(model, op.inputs()->Get(0))) {
    const auto value = static_cast<uint8_t>(int8_scale(model, output_of(op)).integer(p.value()));
    *out = std::make_unique<Pad>(p, value * 0x01010101u, sizeof(int8_t));
    return {};
  }
  const bool integer = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<Pad>(
      p, integer ? static_cast<uint32_t>(static_cast<int32_t>(p.value())) : std::bit_cast<uint32_t>(p.value()),
      element_bytes(model, op));
  return {};
}

Status create_float16_pad(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Pad& p = *op.params_as_Pad();
  const float values[] = {p.value(), p.value()};
  Float16 both[2];
  narrow(values, both, 2);
  uint32_t word;
  std::memcpy(&word, both, sizeof word);
  *out = std::make_unique<Pad>(p, word, sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
