// DeformConv over offsets that are known at conversion: what each cell of the kernel sees is linear in the input, so it is a
// linear layer; then the convolution is one of 1 x 1 over all that the cells see.
#include <cmath>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxWeight = int64_t{1} << 24;

struct Sampling {
  int64_t height, width;  // of the input
  // Adds to `row` the shares of the four places around (y, x), nothing outside.
  void add(double* row, double y, double x, double factor) const {
    const double top = std::floor(y), left = std::floor(x);
    for (int i = 0; i < 4; ++i) {
      const double py = top + i / 2, px = left + i % 2;
      const double share = (1 - std::fabs(y - py)) * (1 - std::fabs(x - px));
      if (py >= 0 && py < static_cast<double>(height) && px >= 0 && px < static_cast<double>(width))
        row[static_cast<int64_t>(py) * width + static_cast<int64_t>(px)] += share * factor;
    }
  }
};

}  // namespace

void deform_conv(Op& op) {
  const Dims dims = op.dims(0);
  const Array &weight = op.array(1, "the weight"), &offset = op.array(2, "the offset");
  if (dims.size() != 4 || weight.dims.size() != 4) op.refuse("expected height and width");
  const std::vector<Side> sides = read_sides(op, {weight.dims[2], weight.dims[3]});
  const int64_t rows = sides[0].outputs(), columns = sides[1].outputs(), cells = weight.dims[2] * weight.dims[3];
  const int64_t groups = op.integer("group", 1), offset_groups = op.integer("offset_group", 1);
  const int64_t places = dims[2] * dims[3], outputs = cells * rows * columns;
  if (groups < 1 || offset_groups < 1 || dims[1] % groups != 0 || dims[1] % offset_groups != 0)
    op.refuse("the groups do not divide %lld channels", static_cast<long long>(dims[1]));
  if (offset.dims != Dims{dims[0], offset_groups * cells * 2, rows, columns})
    op.refuse("the offset %s does not fit", to_string(offset.dims).c_str());
  if (outputs * places > kMaxWeight)
    op.refuse("%lld places are sampled at %lld: at most 2^24 pairs", static_cast<long long>(places),
              static_cast<long long>(outputs));
  const std::vector<double> offsets = offset.floats();
  std::vector<double> mask(static_cast<size_t>(dims[0] * offset_groups * outputs), 1.0);
  if (op.has(4)) {
    if (op.array(4, "the mask").elements() != static_cast<int64_t>(mask.size())) op.refuse("the mask does not fit");
    mask = op.array(4, "the mask").floats();
  }
  const Sampling sampling{dims[2], dims[3]};
  const int64_t channels = dims[1] / offset_groups;
  const Tensor x = reshape_to(op.tensor(0), {dims[0], dims[1], places});
  std::vector<Tensor> samples;
  for (int64_t n = 0; n < dims[0]; ++n) {
    std::vector<Tensor> seen;
    for (int64_t g = 0; g < offset_groups; ++g) {
      std::vector<double> shares(static_cast<size_t>(outputs * places), 0.0);
      for (int64_t o = 0; o < outputs; ++o) {
        const int64_t cell = o / (rows * columns), place = o % (rows * columns);
        const int64_t block = (n * offset_groups + g) * cells + cell;
        const auto shift = [&](int64_t side) {
          return offsets[static_cast<size_t>((block * 2 + side) * rows * columns + place)];
        };
        const auto base = [&](int64_t side, int64_t at, int64_t k) {
          const Side& s = sides[static_cast<size_t>(side)];
          return static_cast<double>(at * s.stride - s.before + k * s.dilation) + shift(side);
        };
        sampling.add(&shares[static_cast<size_t>(o * places)], base(0, place / columns, cell / weight.dims[3]),
                     base(1, place % columns, cell % weight.dims[3]),
                     mask[static_cast<size_t>(block * rows * columns + place)]);
      }
      const Tensor part = ferry::slice(ferry::slice(x, 0, static_cast<int>(n), 1), 1, static_cast<int>(g * channels),
                                       static_cast<int>(channels));
      const Tensor matrix =
          add_constant(op.graph(), op.node().name + ".shares", make_array(Type::Float64, {outputs, places}, shares));
      seen.push_back(op.graph().add_op("", fbs::LinearT{}, {part, matrix}));
    }
    samples.push_back(seen.size() == 1 ? seen[0] : ferry::concat(seen, 1));
  }
  const Tensor all = samples.size() == 1 ? samples[0] : ferry::concat(samples, 0);
  fbs::Conv2dT params;
  params.groups = to_int32({groups})[0];
  const Array point = weight.reshaped({weight.dims[0], 1, 1, weight.dims[1] * cells});
  std::vector<Tensor> inputs = {to_channels_last(reshape_to(all, {dims[0], dims[1] * cells, rows, columns})),
                                add_constant(op.graph(), op.node().inputs[1], point)};
  if (op.has(3)) inputs.push_back(add_constant(op.graph(), op.node().inputs[3], op.array(3, "the bias")));
  op.set(to_channels_first(op.graph().add_op("", params, inputs)));
}

}  // namespace ferry::onnx
