#include <algorithm>

#include "sdk/cpu/depthwise_avx512.h"
#include "sdk/cpu/gemm_avx512.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/panels.h"
#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/winograd.h"

namespace ferry::cpu {
namespace {

class Conv2d : public PanelOp {
 public:
  Conv2d() : PanelOp(fbs::OpParams::Conv2d) {}

  Status create(const Model& model, const fbs::Operator& op, const float* weight, const float* bias,
                WeightsCache::Creation& creation) {
    const fbs::Conv2d& p = *op.params_as_Conv2d();
    const Shape w = model.shape(op.inputs()->Get(1)), y = model.shape(op.outputs()->Get(0));
    const size_t groups = static_cast<size_t>(p.groups());
    const size_t group_inputs = static_cast<size_t>(w[3]);
    const size_t group_outputs = static_cast<size_t>(w[0]) / groups;
    const size_t channel = elements(w, 1, 4);  // weights of an output channel
    width_ = groups == 1 ? panel_width(elements(y, 0, 3), channel * sizeof(float), group_outputs) : group_outputs;
    // One indirection buffer in the session's workspace instead of one kept by each convolution: at 512x512 a 3x3
    // kernel's takes 19 MB. Panels, which run at the same time, belong to small pictures and keep theirs.
    const uint32_t flags = width_ < group_outputs ? 0 : XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER;
    for (size_t begin = 0; begin < group_outputs; begin += width_) {
      xnn_operator_t created = nullptr;
      const xnn_status status = xnn_create_convolution2d_nhwc_f32(
          static_cast<uint32_t>(p.pad_top()), static_cast<uint32_t>(p.pad_right()),
          static_cast<uint32_t>(p.pad_bottom()), static_cast<uint32_t>(p.pad_left()), static_cast<uint32_t>(w[1]),
          static_cast<uint32_t>(w[2]), static_cast<uint32_t>(p.stride_h()), static_cast<uint32_t>(p.stride_w()),
          static_cast<uint32_t>(p.dilation_h()), static_cast<uint32_t>(p.dilation_w()), static_cast<uint32_t>(groups),
          group_inputs, std::min(width_, group_outputs - begin), groups * group_inputs, groups * group_outputs,
          weight + begin * channel, bias != nullptr ? bias + begin : nullptr, p.output_min(), p.output_max(), flags,
          /*code_cache=*/nullptr, creation.next(), &created);
      FERRY_TRY(add(status, created));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t pool, size_t* workspace) override {
    const Shape& x = inputs[0];
    for (const XnnOperator& panel : panels_) {
      size_t alignment = 0, height = 0, width = 0;
      *workspace = 0;
      FERRY_TRY(check(xnn_reshape_convolution2d_nhwc_f32(panel.get(), static_cast<size_t>(x[0]),
                                                         static_cast<size_t>(x[1]), static_cast<size_t>(x[2]),
                                                         workspace, &alignment, &height, &width, within(pool)),
                      "reshaping"));
      if (height != static_cast<size_t>(output[1]) || width != static_cast<size_t>(output[2]) || alignment > kAlignment)
        return error(FERRY_BACKEND_ERROR, "conv2d: XNNPACK plans an output of %zux%zu for %s", height, width,
                     to_string(output).c_str());
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    float* to = floats(output);
    for (const XnnOperator& panel : panels_) {
      FERRY_TRY(check(xnn_setup_convolution2d_nhwc_f32(panel.get(), workspace, floats(inputs[0]), to), "setting up"));
      to += width_;
    }
    return {};
  }
};

}  // namespace

Status create_conv2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Conv2d& p = *op.params_as_Conv2d();
  const Shape w = model.shape(op.inputs()->Get(1)), y = model.shape(op.outputs()->Get(0));
  if (const int tile = winograd_tile(p, w, y); tile != 0) return create_winograd(model, op, tile, out);
  FloatConstant weight, bias;
  FERRY_TRY(constant_input(model, op, 1, &weight));
  FERRY_TRY(constant_input(model, op, 2, &bias));
  WeightsCache::Creation creation(model.weights_cache(), &op);
  const Gemm gemm{1, elements(w, 1, 4), static_cast<size_t>(w[0]), p.output_min(), p.output_max()};
  if (p.groups() == 1 && gemm_avx512_pays(elements(y, 0, 3), gemm)) {
    const bool pointwise = w[1] == 1 && w[2] == 1 && p.stride_h() == 1 && p.stride_w() == 1 && p.pad_top() == 0 &&
                           p.pad_left() == 0 && p.pad_bottom() == 0 && p.pad_right() == 0;
    return pointwise ? create_gemm_avx512(gemm, weight.data, bias.data, creation, out)
                     : create_conv_avx512(p, w, gemm, weight.data, bias.data, creation, out);
  }
  if (depthwise_avx512_pays(p, w)) return create_depthwise_avx512(p, w, weight.data, bias.data, creation, out);
  auto conv = std::make_unique<Conv2d>();
  FERRY_TRY(conv->create(model, op, weight.data, bias.data, creation));
  *out = std::move(conv);
  return {};
}

}  // namespace ferry::cpu
