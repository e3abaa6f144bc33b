// XNNPACK's operators as ours: ownership, errors, weights.
#pragma once

#include <xnnpack.h>

#include <memory>

#include "sdk/cpu/backend/op.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {

// "conv2d: XNNPACK reports an unsupported parameter while creating"
Status check(xnn_status status, fbs::OpParams type, const char* doing);

struct DeleteXnn {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using XnnOperator = std::unique_ptr<xnn_operator, DeleteXnn>;

// An op that is one XNNPACK operator.
class XnnOp : public Op {
 public:
  Status run(Pool* pool) override { return check(xnn_run_operator(xnn_.get(), as_xnnpack(pool)), type_, "running"); }

 protected:
  explicit XnnOp(fbs::OpParams type) : type_(type) {}
  Status check(xnn_status status, const char* doing) const { return cpu::check(status, type_, doing); }
  Status check(xnn_status status, fbs::OpParams type, const char* doing) const {
    return cpu::check(status, type, doing);
  }
  // Takes what an xnn_create_ function gave.
  Status own(xnn_status status, xnn_operator_t op) {
    if (status == xnn_status_success) xnn_.reset(op);
    return check(status, "creating");
  }

  fbs::OpParams type_;
  XnnOperator xnn_;
};

// call(XNNPACK's function for halves), where that is built in, or call(that for floats).
template <bool kBuiltIn, typename Call, typename OfFloat16, typename OfFloats>
xnn_status with_float16(bool float16, const Call& call, OfFloat16* of_float16, OfFloats* of_floats) {
  if constexpr (kBuiltIn)
    if (float16) return call(of_float16);
  return call(of_floats);
}
// Where numbers lie, as either of them takes it.
struct Numbers {
  explicit Numbers(const void* address) : data(const_cast<void*>(address)) {}
  operator void*() const { return data; }
  operator float*() const { return static_cast<float*>(data); }
  void* data;
};
inline size_t number_bytes(bool float16) { return float16 ? 2 : sizeof(float); }

inline const float* floats(const void* data) { return static_cast<const float*>(data); }
inline float* floats(void* data) { return static_cast<float*>(data); }

// A shape as XNNPACK takes it.
struct Sizes {
  explicit Sizes(const Shape& shape) : rank(static_cast<size_t>(shape.rank)) {
    for (int i = 0; i < shape.rank; ++i) dims[static_cast<size_t>(i)] = static_cast<size_t>(shape[i]);
  }
  size_t rank;
  std::array<size_t, FERRY_MAX_RANK> dims{};
};

// Elements in dimensions [begin, end).
inline size_t elements(const Shape& shape, int begin, int end) {
  size_t n = 1;
  for (int i = begin; i < end; ++i) n *= static_cast<size_t>(shape[i]);
  return n;
}
inline size_t elements(const Shape& shape) { return elements(shape, 0, shape.rank); }

}  // namespace ferry::cpu
