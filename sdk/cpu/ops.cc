#include <xnnpack.h>

#include "sdk/cpu/linear_quantized.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/graph/shape_rules.h"
#include "sdk/graph/type_rules.h"

namespace ferry::cpu {
namespace {

// An operator whose deciding_input() is of one of these types.
struct Lowering {
  fbs::OpParams type;
  Status (*create)(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
  TypeSet types = kNumbers | kFloat16;
};

constexpr Lowering kLowerings[] = {
    {fbs::OpParams::Conv2d, create_conv2d},
    {fbs::OpParams::Conv2d, create_linear_quantized, kQuantized},
    {fbs::OpParams::Linear, create_linear},
    {fbs::OpParams::Linear, create_linear_quantized, kQuantized},
    {fbs::OpParams::Pool2d, create_pool2d},
    {fbs::OpParams::Unary, create_unary},
    {fbs::OpParams::Binary, create_binary},
    {fbs::OpParams::Reduce, create_reduce},
    {fbs::OpParams::Concat, create_concat},
    {fbs::OpParams::PixelShuffle, create_pixel_shuffle},
    {fbs::OpParams::Resize2d, create_resize2d},
    {fbs::OpParams::Pad, create_pad},
    {fbs::OpParams::Reshape, create_reshape},
    {fbs::OpParams::Transpose, create_transpose},
    {fbs::OpParams::Slice, create_slice},
    {fbs::OpParams::Softmax, create_softmax},
    {fbs::OpParams::ConvTranspose2d, create_conv_transpose2d},
    {fbs::OpParams::LayerNorm, create_layer_norm},
    {fbs::OpParams::GroupNorm, create_group_norm},
    {fbs::OpParams::Grn, create_grn},
    {fbs::OpParams::Attention, create_attention},
    {fbs::OpParams::RotaryEmbedding, create_rotary_embedding},
    {fbs::OpParams::WindowPartition, create_window_partition},
    {fbs::OpParams::WindowReverse, create_window_reverse},
    {fbs::OpParams::Cast, create_cast},
    {fbs::OpParams::Select, create_select},
    {fbs::OpParams::TopK, create_top_k},
    {fbs::OpParams::Gather, create_gather},
    {fbs::OpParams::Scatter, create_scatter},
    {fbs::OpParams::NonMaxSuppression, create_non_max_suppression},
};

}  // namespace

Status create_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  const Type type = type_of(model.tensor(op.inputs()->Get(deciding_input(op.params_type()))));
  for (const Lowering& lowering : kLowerings) {
    if (lowering.type == op.params_type() && (lowering.types & set_of(type)) != 0)
      return lowering.create(model, op, out);
  }
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator of %s", op_name(op.params_type()),
               to_string(type).c_str());
}

bool may_run_in_place(const fbs::Operator& op, int index) {
  switch (op.params_type()) {
    case fbs::OpParams::Unary:
    case fbs::OpParams::Cast:
    case fbs::OpParams::Scatter:
    case fbs::OpParams::LayerNorm:
    case fbs::OpParams::GroupNorm:
    case fbs::OpParams::Grn:
    case fbs::OpParams::RotaryEmbedding:
    case fbs::OpParams::Reshape: return index == 0;
    case fbs::OpParams::Select:
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
