#include "converter/tflite/quantised.h"

#include <algorithm>

#include "converter/graph/elementary.h"
#include "converter/tflite/constants.h"

namespace ferry::tflite {
namespace {

using Type = schema::TensorType;

constexpr int kUnsignedOffset = 128;

struct Affine {
  float scale;
  int64_t zero_point;
};

Affine affine_of(const schema::Tensor& tensor) {
  const schema::QuantizationParameters& q = *tensor.quantization();
  if (q.details_type() != schema::QuantizationDetails::NONE) fail("its scales are of a custom kind");
  if (count(q.scale()) != 1 || count(q.zero_point()) > 1)
    fail("it has %u scales and %u zero points, expected one for all elements", count(q.scale()), count(q.zero_point()));
  const int64_t zero_point = count(q.zero_point()) == 0 ? 0 : q.zero_point()->Get(0);
  if (zero_point != static_cast<int16_t>(zero_point))
    fail("its zero point is %lld, beyond 16 bits", static_cast<long long>(zero_point));
  return {q.scale()->Get(0), zero_point};
}

}  // namespace

Tensor rounded(Tensor value, const schema::Tensor& tensor) {
  if (value.dtype() != fbs::DType::Float32)
    fail("its result is integers, and those that the file has in its place have a scale");
  const Affine affine = affine_of(tensor);
  switch (tensor.type()) {
    case Type::INT8: return quantize_dequantize(value, affine.scale, affine.zero_point);
    case Type::UINT8: return quantize_dequantize(value, affine.scale, affine.zero_point - kUnsignedOffset);
    case Type::INT16: {
      constexpr double kLowest = -32768, kHighest = 32767;
      const auto real = [&](double integer) {
        return (integer - static_cast<double>(affine.zero_point)) * static_cast<double>(affine.scale);
      };
      if (!(real(kLowest) < real(kHighest))) fail("its scale is %g", static_cast<double>(affine.scale));
      return unary(value, fbs::UnaryKind::Clamp, real(kLowest), real(kHighest));
    }
    default: fail("it is %s with a scale, expected integers of 8 or 16 bits", type_name(tensor.type()));
  }
}

ImageSettings levels_as_integers(const File& file) {
  constexpr int32_t kSmallest = 24;  // of a map with one channel: fewer rows or columns are no photograph's
  ImageSettings out;
  if (count(file.graph->inputs()) == 0) return out;
  const schema::Tensor& input = file.tensor(file.graph->inputs()->Get(0));
  const bool is_signed = input.type() == Type::INT8;
  if (!is_quantised(input) || (!is_signed && input.type() != Type::UINT8) || count(input.shape()) != 4) return out;
  const auto& shape = *input.shape();
  const bool colours = shape[3] == 3, grey = shape[3] == 1 && std::min(shape[1], shape[2]) >= kSmallest;
  if (!colours && !grey) return out;
  const Affine affine = affine_of(input);
  out.range = 255;
  out.mean = {static_cast<double>(affine.zero_point + (is_signed ? kUnsignedOffset : 0))};
  out.std = {1 / static_cast<double>(affine.scale)};
  return out;
}

}  // namespace ferry::tflite
