#include <algorithm>

#include "sdk/api/handles.h"
#include "sdk/model/dtype.h"

namespace ferry {
namespace {

ferry_dtype public_dtype(fbs::DType dtype) {
  switch (dtype) {
    case fbs::DType::Float16: return FERRY_FLOAT16;
    case fbs::DType::Int8: return FERRY_INT8;
    case fbs::DType::UInt8: return FERRY_UINT8;
    case fbs::DType::Int32: return FERRY_INT32;
    case fbs::DType::Int64: return FERRY_INT64;
    default: return FERRY_FLOAT32;  // no blob holds the others
  }
}

// A tensor [N, spatial..., C] here is [N, C, spatial...] in a framework that puts channels first.
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
void transpose(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns) {
  for (int64_t b = 0; b < batch; ++b, from += rows * columns, to += rows * columns) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
    }
  }
}

Status check_copy(const char* function, const ferry_tensor& tensor, size_t count) {
  if (tensor.data == nullptr) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' is a description without data", function,
                 tensor.name != nullptr ? tensor.name : "");
  }
  if (tensor.dtype != FERRY_FLOAT32) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' is not float32", function,
                 tensor.name != nullptr ? tensor.name : "");
  }
  if (tensor.rank < 0 || tensor.rank > FERRY_MAX_RANK) {
    return error(FERRY_INVALID_ARGUMENT, "%s: rank is %d: it must be between 0 and %d", function, tensor.rank,
                 FERRY_MAX_RANK);
  }
  const Extent e = extent(tensor);
  const size_t elements = static_cast<size_t>(e.batch * e.pixels * e.channels);
  if (count != elements || count != tensor.bytes / sizeof(float)) {
    return error(FERRY_INVALID_ARGUMENT, "%s: tensor '%s' has %zu elements, not %zu", function,
                 tensor.name != nullptr ? tensor.name : "", elements, count);
  }
  return {};
}

}  // namespace

ferry_tensor describe(const Model& model, const fbs::Port& port, const Shape& shape, void* data) {
  ferry_tensor tensor{};
  tensor.name = port.name() != nullptr ? port.name()->c_str() : "";
  tensor.data = data;
  const fbs::DType dtype = model.tensor(static_cast<int>(port.tensor())).dtype();
  tensor.dtype = public_dtype(dtype);
  tensor.bytes = static_cast<size_t>(shape.elements()) * dtype_size(dtype);
  tensor.source_layout = port.source_layout() == fbs::Layout::NCHW ? FERRY_LAYOUT_NCHW : FERRY_LAYOUT_SAME;
  tensor.rank = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, tensor.shape);
  return tensor;
}

}  // namespace ferry

ferry_status ferry_tensor_write_source(const ferry_tensor* tensor, const float* source, size_t count) {
  FERRY_REQUIRE(tensor);
  FERRY_REQUIRE(source);
  if (const ferry::Status status = ferry::check_copy(__func__, *tensor, count); !status.ok()) {
    return ferry::report(status);
  }
  const ferry::Extent e = ferry::extent(*tensor);
  ferry::transpose(source, static_cast<float*>(tensor->data), e.batch, e.channels, e.pixels);
  return FERRY_OK;
}

ferry_status ferry_tensor_read_source(const ferry_tensor* tensor, float* destination, size_t count) {
  FERRY_REQUIRE(tensor);
  FERRY_REQUIRE(destination);
  if (const ferry::Status status = ferry::check_copy(__func__, *tensor, count); !status.ok()) {
    return ferry::report(status);
  }
  const ferry::Extent e = ferry::extent(*tensor);
  ferry::transpose(static_cast<const float*>(tensor->data), destination, e.batch, e.pixels, e.channels);
  return FERRY_OK;
}
