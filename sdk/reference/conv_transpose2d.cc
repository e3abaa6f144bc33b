#include "sdk/reference/ops.h"

namespace ferry::reference {

// Gathers, where the definition scatters: output (oy, ox) gets what input (y, x) adds through kernel cell (ky, kx) for
// which oy = y * stride + ky * dilation - pad.
void conv_transpose2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::ConvTranspose2d& p = *op.params_as_ConvTranspose2d();
  const int64_t stride_h = p.stride_h(), stride_w = p.stride_w(), dilation_h = p.dilation_h(),
                dilation_w = p.dilation_w();
  const int64_t pad_top = p.pad_top(), pad_left = p.pad_left();
  const float low = p.output_min(), high = p.output_max();
  const Shape &xs = inputs[0]->shape, &ws = inputs[1]->shape, &ys = output.shape;
  const double* bias = inputs.size() > 2 ? inputs[2]->values.data() : nullptr;
  const int64_t group_in = ws[3], group_out = ws[0] / p.groups();
  for (int64_t n = 0; n < ys[0]; ++n)
    for (int64_t oy = 0; oy < ys[1]; ++oy)
      for (int64_t ox = 0; ox < ys[2]; ++ox)
        for (int64_t o = 0; o < ys[3]; ++o) {
          double sum = bias ? bias[o] : 0.0;
          for (int64_t ky = 0; ky < ws[1]; ++ky) {
            const int64_t y = oy + pad_top - ky * dilation_h;
            if (y < 0 || y % stride_h != 0 || y / stride_h >= xs[1]) continue;
            for (int64_t kx = 0; kx < ws[2]; ++kx) {
              const int64_t x = ox + pad_left - kx * dilation_w;
              if (x < 0 || x % stride_w != 0 || x / stride_w >= xs[2]) continue;
              const int64_t pixel = (n * xs[1] + y / stride_h) * xs[2] + x / stride_w;
              const double* cell = &inputs[0]->values[static_cast<size_t>(pixel * xs[3])];
              cell += o / group_out * group_in;
              const double* w = &inputs[1]->values[static_cast<size_t>(((o * ws[1] + ky) * ws[2] + kx) * group_in)];
              for (int64_t i = 0; i < group_in; ++i) sum += cell[i] * w[i];
            }
          }
          const auto at = static_cast<size_t>(((n * ys[1] + oy) * ys[2] + ox) * ys[3] + o);
          output.values[at] = clamp(sum, low, high);
        }
}

}  // namespace ferry::reference
