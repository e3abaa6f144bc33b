#include <xnnpack.h>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/xnn.h"
#include "sdk/graph/shape_rules.h"

namespace ferry::cpu {
namespace {

struct Lowering {
  fbs::OpParams type;
  Status (*create)(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
  // Inputs that may be stored in half precision: create() widens them. 0: none.
  unsigned half_inputs;
};

constexpr unsigned kWeightAndBias = 1u << 1 | 1u << 2;

constexpr Lowering kLowerings[] = {
    {fbs::OpParams::Conv2d, create_conv2d, kWeightAndBias},
    {fbs::OpParams::Linear, create_linear, kWeightAndBias},
    {fbs::OpParams::Pool2d, create_pool2d, 0},
    {fbs::OpParams::Unary, create_unary, 0},
    {fbs::OpParams::Binary, create_binary, 1u << 0 | 1u << 1},
    {fbs::OpParams::Reduce, create_reduce, 0},
    {fbs::OpParams::Concat, create_concat, 0},
    {fbs::OpParams::PixelShuffle, create_pixel_shuffle, 0},
    {fbs::OpParams::Resize2d, create_resize2d, 0},
    {fbs::OpParams::Pad, create_pad, 0},
    {fbs::OpParams::Reshape, create_reshape, 0},
    {fbs::OpParams::Transpose, create_transpose, 0},
    {fbs::OpParams::Slice, create_slice, 0},
    {fbs::OpParams::Softmax, create_softmax, 0},
};

Status check_dtypes(const Model& model, const fbs::Operator& op, const Lowering& lowering) {
  const auto refuse = [&](const char* what, int tensor) {
    return error(FERRY_UNSUPPORTED, "%s: %s '%s' is %s, the CPU backend computes in Float32", op_name(op.params_type()),
                 what, model.tensor(tensor).name() ? model.tensor(tensor).name()->c_str() : "",
                 fbs::EnumNameDType(model.tensor(tensor).dtype()));
  };
  for (unsigned i = 0; i < op.inputs()->size(); ++i) {
    const int tensor = op.inputs()->Get(i);
    if (model.tensor(tensor).dtype() == fbs::DType::Float32) continue;
    const bool may_be_half = i < 32 && (lowering.half_inputs >> i & 1u) != 0 && model.is_constant(tensor);
    if (!may_be_half || model.tensor(tensor).dtype() != fbs::DType::Float16) return refuse("input", tensor);
  }
  for (const int tensor : *op.outputs())
    if (model.tensor(tensor).dtype() != fbs::DType::Float32) return refuse("output", tensor);
  return {};
}

}  // namespace

Status create_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  for (const Lowering& lowering : kLowerings) {
    if (lowering.type != op.params_type()) continue;
    FERRY_TRY(check_dtypes(model, op, lowering));
    return lowering.create(model, op, out);
  }
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator", op_name(op.params_type()));
}

bool may_run_in_place(const fbs::Operator& op, int index) {
  switch (op.params_type()) {
    case fbs::OpParams::Unary:
    case fbs::OpParams::Reshape: return index == 0;
    case fbs::OpParams::Binary: return true;  // of the output's size: not the one that broadcasts
    default: return false;
  }
}

Status initialize() {
  if (const xnn_status status = xnn_initialize(/*allocator=*/nullptr); status != xnn_status_success)
    return error(status == xnn_status_out_of_memory ? FERRY_OUT_OF_MEMORY : FERRY_UNSUPPORTED,
                 "XNNPACK cannot be initialized on this CPU (status %d)", static_cast<int>(status));
  return {};
}

}  // namespace ferry::cpu
