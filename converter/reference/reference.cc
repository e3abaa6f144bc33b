#include "converter/reference/reference.h"

#include "converter/error.h"
#include "converter/reference/ops.h"
#include "sdk/graph/shape_rules.h"
#include "sdk/graph/type_rules.h"

namespace ferry::reference {
namespace {

struct Entry {
  fbs::OpParams type;
  void (*compute)(const fbs::Operator& op, Inputs inputs, Array& output);
};

constexpr Entry kOps[] = {
    {fbs::OpParams::Conv2d, conv2d},
    {fbs::OpParams::Linear, linear},
    {fbs::OpParams::Pool2d, pool2d},
    {fbs::OpParams::Unary, unary},
    {fbs::OpParams::Binary, binary},
    {fbs::OpParams::Reduce, reduce},
    {fbs::OpParams::Concat, concat},
    {fbs::OpParams::PixelShuffle, pixel_shuffle},
    {fbs::OpParams::Resize2d, resize2d},
    {fbs::OpParams::Pad, pad},
    {fbs::OpParams::Reshape, reshape},
    {fbs::OpParams::Transpose, transpose},
    {fbs::OpParams::Slice, slice},
    {fbs::OpParams::Softmax, softmax},
    {fbs::OpParams::ConvTranspose2d, conv_transpose2d},
    {fbs::OpParams::LayerNorm, layer_norm},
    {fbs::OpParams::GroupNorm, group_norm},
    {fbs::OpParams::Grn, grn},
    {fbs::OpParams::Attention, attention},
    {fbs::OpParams::RotaryEmbedding, rotary_embedding},
    {fbs::OpParams::WindowPartition, window_partition},
    {fbs::OpParams::WindowReverse, window_reverse},
    {fbs::OpParams::Cast, cast},
    {fbs::OpParams::Select, select},
    {fbs::OpParams::TopK, top_k},
    {fbs::OpParams::Gather, gather},
    {fbs::OpParams::Scatter, scatter},
    {fbs::OpParams::NonMaxSuppression, non_max_suppression},
};

}  // namespace

Array compute(const fbs::Operator& op, std::span<const Array* const> inputs) {
  std::vector<Shape> shapes;
  std::vector<Type> types;
  for (const Array* input : inputs) {
    if (input->values.size() != static_cast<size_t>(input->shape.elements()))
      fail("%s: input %zu has %zu values for shape %s", op_name(op.params_type()), shapes.size(), input->values.size(),
           to_string(input->shape).c_str());
    shapes.push_back(input->shape);
    types.push_back(input->quantized ? Type{fbs::DType::Int8, true} : Type{input->dtype});
  }
  Array output;
  Type type;
  Status status = infer_shape(op, shapes, &output.shape);
  if (status.ok()) status = infer_type(op, types, &type);
  if (!status.ok()) fail("%s", status.message().c_str());
  output.dtype = type.dtype;
  output.values.resize(static_cast<size_t>(output.shape.elements()));
  for (const Entry& entry : kOps) {
    if (entry.type != op.params_type()) continue;
    entry.compute(op, inputs, output);
    return output;
  }
  fail("%s: the reference has no such operator", op_name(op.params_type()));
}

}  // namespace ferry::reference
