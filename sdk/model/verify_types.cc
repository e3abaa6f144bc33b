#include "sdk/model/verify_types.h"

#include "sdk/model/model.h"
#include "sdk/model/verify_meaning.h"
#include "sdk/operators/type.h"

namespace ferry {
namespace {

// The shape of a quantised tensor's scales: [1], [n] or [..., n / block].
Shape scales_shape(const Type& type, const Shape& shape, const Shape& scales) {
  if (type.block > 0) {
    Shape blocks = shape;
    blocks[shape.rank - 1] /= type.block;
    return blocks;
  }
  return scales == Shape{1} ? Shape{1} : Shape{shape[type.axis]};
}

// Scales whose reciprocals are normal numbers of float32, too.
constexpr float kMinScale = 0x1p-100f, kMaxScale = 0x1p100f;

Status verify_activation(const fbs::Tensor& tensor, TensorId id) {
  const uint32_t index = index_of(id);
  const char* name = text(tensor.name());
  const Type type = type_of(tensor);
  if (!(type.float_scale >= kMinScale && type.float_scale <= kMaxScale))
    return error(FERRY_CORRUPT, "tensor %u '%.64s': scale is %g, expected 2^-100 to 2^100", index, name,
                 static_cast<double>(type.float_scale));
  if (type.zero_point < -128 || type.zero_point > 127)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': zero point is %d, expected -128 to 127", index, name,
                 type.zero_point);
  if (type.axis != 0 || type.block != 0)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': an activation with scales along axis %d, in blocks of %d", index,
                 name, type.axis, type.block);
  return {};
}

Status verify_quantization(const fbs::Graph& graph, TensorId id) {
  const uint32_t index = index_of(id);
  const fbs::Tensor& tensor = *graph.tensors()->Get(index);
  const char* name = text(tensor.name());
  const Type type = type_of(tensor);
  const Shape shape = declared_shape(tensor);
  if (type.dtype == fbs::DType::Int8 && (tensor.buffer() == 0 || type.float_scale != 0))
    return verify_activation(tensor, id);
  if (tensor.buffer() == 0 || (type.dtype != fbs::DType::Int8 && type.dtype != fbs::DType::Int4))
    return error(FERRY_UNSUPPORTED, "tensor %u '%.64s': %s of type %s has scales, expected a constant of Int8 or Int4",
                 index, name, tensor.buffer() == 0 ? "an activation" : "a constant", EnumNameDType(type.dtype));
  const int32_t range = type.dtype == fbs::DType::Int4 ? 8 : 128;
  if (type.zero_point < -range || type.zero_point >= range)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': zero point is %d, expected %d to %d", index, name, type.zero_point,
                 -range, range - 1);
  if (type.axis < 0 || type.axis >= shape.rank || (type.block > 0 && type.axis != 0))
    return error(FERRY_CORRUPT, "tensor %u '%.64s': axis is %d for %s%s", index, name, type.axis,
                 in_words(shape).c_str(), type.block > 0 ? " with blocks, expected 0" : "");
  if (type.block < 0 || (type.block > 0 && shape[shape.rank - 1] % type.block != 0))
    return error(FERRY_CORRUPT, "tensor %u '%.64s': blocks of %d do not divide %s", index, name, type.block,
                 in_words(shape).c_str());
  if (index_of(type.scale) >= graph.tensors()->size())
    return error(FERRY_CORRUPT, "tensor %u '%.64s': scale tensor %u of %u does not exist", index, name,
                 index_of(type.scale), graph.tensors()->size());
  const fbs::Tensor& scale = *graph.tensors()->Get(index_of(type.scale));
  const bool half = type.block > 0 && scale.dtype() == fbs::DType::Float16;
  const fbs::DType expected = half ? fbs::DType::Float16 : type.block > 0 ? fbs::DType::BFloat16 : fbs::DType::Float32;
  if (scale.buffer() == 0 || scale.quantization() != nullptr || scale.dtype() != expected)
    return error(
        FERRY_CORRUPT, "tensor %u '%.64s': its scale %u '%.64s' is %s%s of type %s, expected a constant of %s", index,
        name, index_of(type.scale), text(scale.name()), scale.quantization() != nullptr ? "a quantised " : "a ",
        scale.buffer() == 0 ? "computed value" : "constant", EnumNameDType(scale.dtype()), EnumNameDType(expected));
  const Shape scales = declared_shape(scale), want = scales_shape(type, shape, scales);
  if (scales != want)
    return error(FERRY_CORRUPT, "tensor %u '%.64s' of %s: its scale %u is %s, expected %s", index, name,
                 in_words(shape).c_str(), index_of(type.scale), in_words(scales).c_str(), in_words(want).c_str());
  return {};
}

}  // namespace

Status verify_dtype(const fbs::Tensor& tensor, TensorId id) {
  const uint32_t index = index_of(id);
  const char* name = text(tensor.name());
  const fbs::DType dtype = tensor.dtype();
  if (bits_of(dtype) == 0)
    return error(FERRY_UNSUPPORTED, "tensor %u '%.64s': type %u is unknown to this version", index, name,
                 static_cast<unsigned>(dtype));
  if (tensor.buffer() == 0) {
    if (dtype == fbs::DType::Float32 || dtype == fbs::DType::Int32) return {};
    if (dtype == fbs::DType::Int8 && tensor.quantization() != nullptr) return {};
    return error(FERRY_UNSUPPORTED, "tensor %u '%.64s': an activation of type %s%s, expected Float32, Int32 or Int8",
                 index, name, EnumNameDType(dtype), dtype == fbs::DType::Int8 ? " without a quantization" : "");
  }
  if (dtype == fbs::DType::Float64)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': a constant of type Float64, which blobs do not hold", index, name);
  if (dtype != fbs::DType::Int4) return {};
  const Shape shape = declared_shape(tensor);
  if (tensor.quantization() == nullptr)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': a constant of type Int4 without a scale", index, name);
  if (shape.rank == 0 || shape[shape.rank - 1] % 2 != 0)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': Int4 of %s, expected a last dimension that is even", index, name,
                 in_words(shape).c_str());
  return {};
}

Status verify_types(const fbs::Graph& graph) {
  for (const TensorId t : TensorIds(graph.tensors()->size()))
    if (graph.tensors()->Get(index_of(t))->quantization() != nullptr) FERRY_TRY(verify_quantization(graph, t));
  return {};
}

}  // namespace ferry
