#include <algorithm>

#include "sdk/operators/pointwise.h"
#include "sdk/reference/ops.h"
#include "sdk/reference/rounded_rows.h"

namespace ferry::reference {

void conv2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Conv2d& p = *op.params_as_Conv2d();
  const int64_t stride_h = p.stride_h(), stride_w = p.stride_w(), dilation_h = p.dilation_h(),
                dilation_w = p.dilation_w();
  const int64_t pad_top = p.pad_top(), pad_left = p.pad_left();
  const float low = minimum_of(p, *inputs[0]), high = maximum_of(p, *inputs[0]);
  const Shape &xs = inputs[0]->shape, &ws = inputs[1]->shape, &ys = output.shape;
  const double* bias = inputs.size() > 2 ? inputs[2]->values.data() : nullptr;
  const bool rounds = inputs[1]->rounds_rows && is_pointwise(p, ws);
  const std::vector<double> rounded =
      rounds ? rounded_rows(inputs[0]->values, static_cast<size_t>(xs[3])) : std::vector<double>();
  const std::vector<double>& pixels = rounds ? rounded : inputs[0]->values;
  const int64_t group_in = ws[3], group_out = ws[0] / p.groups();
  for (int64_t n = 0; n < ys[0]; ++n)
    for (int64_t oy = 0; oy < ys[1]; ++oy)
      for (int64_t ox = 0; ox < ys[2]; ++ox)
        for (int64_t o = 0, some; o < ys[3]; o += some) {
          some = std::min<int64_t>(4, group_out - o % group_out);
          double sums[4] = {};
          if (bias) std::copy_n(bias + o, some, sums);
          for (int64_t ky = 0; ky < ws[1]; ++ky) {
            const int64_t y = oy * stride_h + ky * dilation_h - pad_top;
            if (y < 0 || y >= xs[1]) continue;
            for (int64_t kx = 0; kx < ws[2]; ++kx) {
              const int64_t x = ox * stride_w + kx * dilation_w - pad_left;
              if (x < 0 || x >= xs[2]) continue;
              const double* cell = &pixels[static_cast<size_t>(((n * xs[1] + y) * xs[2] + x) * xs[3])];
              cell += o / group_out * group_in;
              const double* w = &inputs[1]->values[static_cast<size_t>(((o * ws[1] + ky) * ws[2] + kx) * group_in)];
              add_products(cell, w, ws[1] * ws[2] * group_in, group_in, some, sums);
            }
          }
          const auto at = static_cast<size_t>(((n * ys[1] + oy) * ys[2] + ox) * ys[3] + o);
          for (int64_t j = 0; j < some; ++j) output.values[at + static_cast<size_t>(j)] = clamp(sums[j], low, high);
        }
}

}  // namespace ferry::reference
