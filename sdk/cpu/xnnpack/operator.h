// RAII wrapper around an XNNPACK operator; translates errors and weight ownership.
#pragma once

#include <xnnpack.h>

#include <memory>

#include "sdk/cpu/backend/op.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {

// For example "conv2d: XNNPACK reports an unsupported parameter while creating".
Status check(xnn_status status, fbs::OpParams type, const char* doing);

struct DeleteXnn {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using XnnOperator = std::unique_ptr<xnn_operator, DeleteXnn>;

// An operator that is one XNNPACK operator.
class XnnOp : public Op {
 public:
  Status run(Pool* pool) override { return check(xnn_run_operator(xnn_.get(), as_xnnpack(pool)), type_, "running"); }

 protected:
  explicit XnnOp(fbs::OpParams type) : type_(type) {}
  Status check(xnn_status status, const char* doing) const { return cpu::check(status, type_, doing); }
  Status check(xnn_status status, fbs::OpParams type, const char* doing) const {
    return cpu::check(status, type, doing);
  }
  // Takes ownership of the result of an xnn_create_ function.
  Status own(xnn_status status, xnn_operator_t op) {
    if (status == xnn_status_success) xnn_.reset(op);
    return check(status, "creating");
  }

  fbs::OpParams type_;
  XnnOperator xnn_;
};

// Calls `call` with XNNPACK's float16 function if it is built in and wanted, otherwise with the float32 one.
template <bool kBuiltIn, typename Call, typename OfFloat16, typename OfFloats>
xnn_status with_float16(bool float16, const Call& call, OfFloat16* of_float16, OfFloats* of_floats) {
  if constexpr (kBuiltIn)
    if (float16) return call(of_float16);
  return call(of_floats);
}
// A data address that converts to the pointer type of either function.
struct DataPointer {
  explicit DataPointer(const void* address) : data(const_cast<void*>(address)) {}
  operator void*() const { return data; }
  operator float*() const { return static_cast<float*>(data); }
  void* data;
};
inline size_t element_bytes(bool float16) { return float16 ? 2 : sizeof(float); }

inline const float* floats(const void* data) { return static_cast<const float*>(data); }
inline float* floats(void* data) { return static_cast<float*>(data); }

// A shape in XNNPACK's types.
struct Sizes {
  explicit Sizes(const Shape& shape) : rank(static_cast<size_t>(shape.rank)) {
    for (int i = 0; i < shape.rank; ++i) dims[static_cast<size_t>(i)] = static_cast<size_t>(shape[i]);
  }
  size_t rank;
  std::array<size_t, FERRY_MAX_RANK> dims{};
};

// Number of elements in dimensions [begin, end).
inline size_t elements(const Shape& shape, int begin, int end) {
  size_t n = 1;
  for (int i = begin; i < end; ++i) n *= static_cast<size_t>(shape[i]);
  return n;
}
inline size_t elements(const Shape& shape) { return elements(shape, 0, shape.rank); }

}  // namespace ferry::cpu
