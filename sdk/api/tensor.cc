#include <algorithm>

#include "sdk/api/handles.h"
#include "sdk/operators/type.h"

namespace ferry {

ferry_dtype public_dtype(fbs::DType dtype) {
  switch (dtype) {
    case fbs::DType::Float16: return FERRY_FLOAT16;
    case fbs::DType::Int8: return FERRY_INT8;
    case fbs::DType::UInt8: return FERRY_UINT8;
    case fbs::DType::Int32: return FERRY_INT32;
    case fbs::DType::Int64: return FERRY_INT64;
    case fbs::DType::Float32: return FERRY_FLOAT32;
    // No tensor of a blob has these types.
    case fbs::DType::Float64:
    case fbs::DType::Int16:
    case fbs::DType::UInt16:
    case fbs::DType::UInt32:
    case fbs::DType::UInt64:
    case fbs::DType::Bool:
    case fbs::DType::BFloat16:
    case fbs::DType::Int4: break;
  }
  return FERRY_FLOAT32;
}

namespace {

// A tensor [N, spatial..., C], which is [N, C, spatial...] in frameworks with channels first.
struct Extent {
  int64_t batch = 1;
  int64_t pixels = 1;
  int64_t channels = 1;
};

Extent extent(const ferry_tensor& tensor) {
  Extent e;
  const bool channels_first = tensor.source_layout == FERRY_LAYOUT_NCHW && tensor.rank >= 3;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    int64_t& part = !channels_first || i + 1 == tensor.rank ? e.channels : i == 0 ? e.batch : e.pixels;
    part *= tensor.shape[i];
  }
  return e;
}

// [batch][rows][columns] -> [batch][columns][rows]
void transpose(const void* source, void* destination, int64_t batch, int64_t rows, int64_t columns) {
  const uint32_t* from = static_cast<const uint32_t*>(source);  // elements of four bytes, of any type
  uint32_t* to = static_cast<uint32_t*>(destination);
  for (int64_t b = 0; b < batch; ++b, from += rows * columns, to += rows * columns) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
    }
  }
}

Status check_copy(const char* function, const ferry_tensor& tensor, size_t count, ferry_dtype dtype) {
  if (tensor.data == nullptr) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' is a description without data", function,
                 tensor.name != nullptr ? tensor.name : "");
  }
  if (tensor.dtype != dtype) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' is not %s", function,
                 tensor.name != nullptr ? tensor.name : "", dtype == FERRY_INT32 ? "int32" : "float32");
  }
  if (tensor.rank < 0 || tensor.rank > FERRY_MAX_RANK) {
    return error(FERRY_INVALID_ARGUMENT, "%s: rank is %d: it must be between 0 and %d", function, tensor.rank,
                 FERRY_MAX_RANK);
  }
  const Extent e = extent(tensor);
  const size_t elements = static_cast<size_t>(e.batch * e.pixels * e.channels);
  if (count != elements || count != tensor.bytes / sizeof(uint32_t)) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' has %zu elements, not %zu", function,
                 tensor.name != nullptr ? tensor.name : "", elements, count);
  }
  return {};
}

Status write_source(const char* function, const ferry_tensor* tensor, const void* source, size_t count,
                    ferry_dtype dtype) {
  FERRY_TRY(check_copy(function, *tensor, count, dtype));
  const Extent e = extent(*tensor);
  transpose(source, tensor->data, e.batch, e.channels, e.pixels);
  return {};
}

Status read_source(const char* function, const ferry_tensor* tensor, void* destination, size_t count,
                   ferry_dtype dtype) {
  FERRY_TRY(check_copy(function, *tensor, count, dtype));
  const Extent e = extent(*tensor);
  transpose(tensor->data, destination, e.batch, e.pixels, e.channels);
  return {};
}

}  // namespace

ferry_tensor describe(const Model& model, const fbs::Port& port, const Shape& shape, void* data) {
  ferry_tensor tensor{};
  tensor.name = port.name() != nullptr ? port.name()->c_str() : "";
  tensor.data = data;
  const fbs::DType dtype = model.tensor(port.tensor()).dtype();
  tensor.dtype = public_dtype(dtype);
  tensor.bytes = static_cast<size_t>(bytes_of(dtype, shape.elements()));
  tensor.source_layout = port.source_layout() == fbs::Layout::NCHW ? FERRY_LAYOUT_NCHW : FERRY_LAYOUT_SAME;
  tensor.rank = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, tensor.shape);
  return tensor;
}

}  // namespace ferry

ferry_status ferry_tensor_write_source(const ferry_tensor* tensor, const float* source, size_t count) {
  FERRY_REQUIRE(tensor);
  if (count > 0) FERRY_REQUIRE(source);
  return ferry::report(ferry::write_source(__func__, tensor, source, count, FERRY_FLOAT32));
}

ferry_status ferry_tensor_read_source(const ferry_tensor* tensor, float* destination, size_t count) {
  FERRY_REQUIRE(tensor);
  if (count > 0) FERRY_REQUIRE(destination);
  return ferry::report(ferry::read_source(__func__, tensor, destination, count, FERRY_FLOAT32));
}

ferry_status ferry_tensor_write_source_int32(const ferry_tensor* tensor, const int32_t* source, size_t count) {
  FERRY_REQUIRE(tensor);
  if (count > 0) FERRY_REQUIRE(source);
  return ferry::report(ferry::write_source(__func__, tensor, source, count, FERRY_INT32));
}

ferry_status ferry_tensor_read_source_int32(const ferry_tensor* tensor, int32_t* destination, size_t count) {
  FERRY_REQUIRE(tensor);
  if (count > 0) FERRY_REQUIRE(destination);
  return ferry::report(ferry::read_source(__func__, tensor, destination, count, FERRY_INT32));
}
