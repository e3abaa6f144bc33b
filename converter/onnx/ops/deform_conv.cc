#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {

void deform_conv(Op& op) {
  const Dims dims = op.dims(0);
  const Array& weight = op.array(1, "the weight");
  if (dims.size() != 4 || weight.dims.size() != 4) op.refuse("expected height and width");
  const std::vector<Side> sides = read_sides(op, {weight.dims[2], weight.dims[3]});
  const int64_t rows = sides[0].outputs(), columns = sides[1].outputs(), cells = weight.dims[2] * weight.dims[3];
  const int64_t groups = op.integer("group", 1), offset_groups = op.integer("offset_group", 1);
  if (groups < 1 || offset_groups < 1 || dims[1] % groups != 0 || dims[1] % offset_groups != 0)
    op.refuse("the groups do not divide %lld channels", static_cast<long long>(dims[1]));
  if (op.dims(2) != Dims{dims[0], offset_groups * cells * 2, rows, columns})
    op.refuse("the offset %s does not fit", to_string(op.dims(2)).c_str());
  fbs::DeformConv2dT params;
  set_window(sides, &params);
  set_dilation(sides, &params);
  params.groups = to_int32({groups})[0];
  params.offset_groups = to_int32({offset_groups})[0];
  const Array bias =
      op.has(3) ? op.array(3, "the bias")
                : make_array(Type::Float32, {weight.dims[0]}, std::vector<double>(static_cast<size_t>(weight.dims[0])));
  std::vector<Tensor> inputs = {
      to_maps(op.tensor(0)), add_constant(op.graph(), op.input_name(1), transpose(weight, {0, 2, 3, 1})),
      add_constant(op.graph(), op.has(3) ? op.input_name(3) : op.node().name + ".bias", bias), to_maps(op.tensor(2))};
  if (op.has(4)) inputs.push_back(to_maps(op.tensor(4)));
  op.set(from_maps(op.graph().add_op("", params, inputs), 2, dims[0]));
}

}  // namespace ferry::onnx
