#include <bit>
#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double rounded_to_bfloat16(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (std::isnan(x)) return x;
  return static_cast<double>(std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000));
}

double to_int32(double x) {
  if (std::isnan(x)) return 0;
  return std::trunc(std::fmin(std::fmax(x, -2147483648.0), 2147483647.0));
}

double to(fbs::DType type, double x) {
  const auto integer = static_cast<int32_t>(to_int32(x));
  switch (type) {
    case fbs::DType::Bool: return x != 0;
    case fbs::DType::Int8: return static_cast<int8_t>(integer);
    case fbs::DType::UInt8: return static_cast<uint8_t>(integer);
    case fbs::DType::Int16: return static_cast<int16_t>(integer);
    case fbs::DType::UInt16: return static_cast<uint16_t>(integer);
    case fbs::DType::Int32:
    case fbs::DType::UInt32:
    case fbs::DType::Int64:
    case fbs::DType::Int4:  // the type rule refuses it
    case fbs::DType::UInt64: return integer;
    case fbs::DType::BFloat16: return rounded_to_bfloat16(x);
    case fbs::DType::Float16:
    case fbs::DType::Float32:
    case fbs::DType::Float64: return static_cast<double>(static_cast<float>(x));
  }
  return 0;
}

}  // namespace

void cast(const fbs::Operator& op, Inputs inputs, Array& output) {
  for (size_t i = 0; i < output.values.size(); ++i)
    output.values[i] = to(op.params_as_Cast()->to(), inputs[0]->values[i]);
}

}  // namespace ferry::reference
