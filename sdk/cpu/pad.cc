#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// Elements of four bytes, whatever they are: all that activations have.
class Pad : public Op {
 public:
  Pad(const fbs::Pad& params, uint32_t value) : params_(params), value_(value) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    // Inner dimensions without padding join the one outside them.
    rank_ = 0;
    for (int i = x.rank; i-- > 0;) {
      const unsigned u = static_cast<unsigned>(i);
      Dimension d{static_cast<size_t>(x[i]), static_cast<size_t>(params_.before()->Get(u)),
                  static_cast<size_t>(params_.after()->Get(u))};
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

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = static_cast<const uint32_t*>(inputs[0]);
    output_ = static_cast<uint32_t*>(output);
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
    uint32_t* to = output_ + index * inner.padded();
    size_t source = 0, stride = 1;
    for (size_t i = 1; i < rank_; ++i) {
      const size_t at = index % dims_[i].padded();
      index /= dims_[i].padded();
      if (at < dims_[i].before || at >= dims_[i].before + dims_[i].size) {
        std::fill_n(to, inner.padded(), value_);
        return;
      }
      source += (at - dims_[i].before) * stride;
      stride *= dims_[i].size;
    }
    to = std::fill_n(to, inner.before, value_);
    std::memcpy(to, input_ + source * inner.size, inner.size * sizeof *to);
    std::fill_n(to + inner.size, inner.after, value_);
  }

  const fbs::Pad& params_;
  const uint32_t value_;
  std::array<Dimension, FERRY_MAX_RANK> dims_{};  // innermost first
  size_t rank_ = 0;
  size_t rows_ = 0;
  const uint32_t* input_ = nullptr;
  uint32_t* output_ = nullptr;
};

}  // namespace

Status create_pad(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Pad& p = *op.params_as_Pad();
  const bool integer = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<Pad>(
      p, integer ? static_cast<uint32_t>(static_cast<int32_t>(p.value())) : std::bit_cast<uint32_t>(p.value()));
  return {};
}

}  // namespace ferry::cpu
