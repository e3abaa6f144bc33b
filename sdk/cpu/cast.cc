#include <bit>
#include <cstdint>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

int32_t to_int32(int32_t value) { return value; }

int32_t to_int32(float value) {
  if (value >= 0x1p31f) return INT32_MAX;
  return value > -0x1p31f ? static_cast<int32_t>(value) : value != value ? 0 : INT32_MIN;
}

// The upper half of the bits, rounded.
float to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return value != value ? value : std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

template <typename From>
void convert(fbs::DType to, const From* x, void* y, size_t count) {
  float* real = static_cast<float*>(y);
  int32_t* whole = static_cast<int32_t*>(y);
  for (size_t i = 0; i < count; ++i) {
    switch (to) {
      case fbs::DType::Float16:
      case fbs::DType::Float32:
      case fbs::DType::Float64: real[i] = static_cast<float>(x[i]); break;
      case fbs::DType::BFloat16: real[i] = to_bfloat(static_cast<float>(x[i])); break;
      case fbs::DType::Bool: whole[i] = x[i] != 0; break;
      case fbs::DType::Int8: whole[i] = static_cast<int8_t>(to_int32(x[i])); break;
      case fbs::DType::UInt8: whole[i] = static_cast<uint8_t>(to_int32(x[i])); break;
      case fbs::DType::Int16: whole[i] = static_cast<int16_t>(to_int32(x[i])); break;
      case fbs::DType::UInt16: whole[i] = static_cast<uint16_t>(to_int32(x[i])); break;
      default: whole[i] = to_int32(x[i]); break;
    }
  }
}

class Cast : public Op {
 public:
  Cast(fbs::DType to, bool whole) : to_(to), whole_(whole) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    count_ = elements(inputs[0]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
      if (whole_) {
        convert(to_, reinterpret_cast<const int32_t*>(input_) + begin, output_ + begin, end - begin);
      } else {
        convert(to_, input_ + begin, output_ + begin, end - begin);
      }
    });
    return {};
  }

 private:
  fbs::DType to_;
  bool whole_;  // the input is Int32
  size_t count_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_cast(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const bool whole = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<Cast>(op.params_as_Cast()->to(), whole);
  return {};
}

}  // namespace ferry::cpu
