// DeformConv: what each cell of the kernel sees is sampled where its offset says; then the convolution is one of 1 x 1
// over all that the cells see.
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/sample.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

// Where the cells lie without an offset, along a side: [cells,outputs].
Tensor cell_positions(Op& op, const std::vector<Side>& sides, size_t side) {
  const int64_t columns = sides[1].outputs(), outputs = sides[0].outputs() * columns;
  const int64_t cells = sides[0].kernel * sides[1].kernel;
  std::vector<double> values;
  for (int64_t cell = 0; cell < cells; ++cell) {
    for (int64_t o = 0; o < outputs; ++o) {
      const Side& s = sides[side];
      const int64_t at = side == 0 ? o / columns : o % columns;
      const int64_t k = side == 0 ? cell / sides[1].kernel : cell % sides[1].kernel;
      values.push_back(static_cast<double>(at * s.stride - s.before + k * s.dilation));
    }
  }
  return add_constant(op.graph(), op.node().name + ".cells", make_array(Type::Float32, {cells, outputs}, values));
}

}  // namespace

void deform_conv(Op& op) {
  const Dims dims = op.dims(0);
  const Array& weight = op.array(1, "the weight");
  if (dims.size() != 4 || weight.dims.size() != 4) op.refuse("expected height and width");
  const std::vector<Side> sides = read_sides(op, {weight.dims[2], weight.dims[3]});
  const int64_t rows = sides[0].outputs(), columns = sides[1].outputs(), cells = weight.dims[2] * weight.dims[3];
  const int64_t groups = op.integer("group", 1), offset_groups = op.integer("offset_group", 1);
  const int64_t samples = dims[0], outputs = rows * columns;
  if (cells > 1 << 12 || outputs > (1 << 24) / cells)
    op.refuse("%lld cells see %lld places", static_cast<long long>(cells), static_cast<long long>(outputs));
  if (groups < 1 || offset_groups < 1 || dims[1] % groups != 0 || dims[1] % offset_groups != 0)
    op.refuse("the groups do not divide %lld channels", static_cast<long long>(dims[1]));
  if (op.dims(2) != Dims{samples, offset_groups * cells * 2, rows, columns})
    op.refuse("the offset %s does not fit", to_string(op.dims(2)).c_str());
  const Tensor offset = reshape_to(op.tensor(2), {samples, offset_groups, cells, 2, outputs});
  const int64_t channels = dims[1] / offset_groups;
  std::vector<Tensor> seen;  // [N,cells,outputs,channels] of each group
  for (int64_t g = 0; g < offset_groups; ++g) {
    const auto position = [&](int side) {
      const Tensor own = ferry::slice(ferry::slice(offset, 1, static_cast<int>(g), 1), 3, side, 1);
      return reshape_to(
          reshape_to(own, {samples, cells, outputs}) + cell_positions(op, sides, static_cast<size_t>(side)),
          {samples, cells * outputs});
    };
    const Tensor part = ferry::slice(op.tensor(0), 1, static_cast<int>(g * channels), static_cast<int>(channels));
    Tensor found = sample(op, to_channels_last(part), position(0), position(1));
    if (op.has(4)) {
      const Tensor mask = reshape_to(op.tensor(4), {samples, offset_groups, cells * outputs, 1});
      found = found * reshape_to(ferry::slice(mask, 1, static_cast<int>(g), 1), {samples, cells * outputs, 1});
    }
    seen.push_back(reshape_to(found, {samples, cells, outputs, channels}));
  }
  const Tensor all = seen.size() == 1 ? seen[0] : ferry::concat(seen, 3);
  fbs::Conv2dT params;
  params.groups = to_int32({groups})[0];
  // Channels one by one, each with all its cells, as the weight counts them.
  const Tensor map = reshape_to(ferry::transpose(all, {0, 2, 3, 1}), {samples, rows, columns, dims[1] * cells});
  const Array point = weight.reshaped({weight.dims[0], 1, 1, weight.dims[1] * cells});
  std::vector<Tensor> inputs = {map, add_constant(op.graph(), op.node().inputs[1], point)};
  if (op.has(3)) inputs.push_back(add_constant(op.graph(), op.node().inputs[3], op.array(3, "the bias")));
  op.set(to_channels_first(op.graph().add_op("", params, inputs)));
}

}  // namespace ferry::onnx
