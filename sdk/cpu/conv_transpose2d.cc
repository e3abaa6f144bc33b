#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

class ConvTranspose2d : public XnnOp {
 public:
  ConvTranspose2d(const fbs::ConvTranspose2d& params, const Shape& weight)
      : XnnOp(fbs::OpParams::ConvTranspose2d), params_(params), weight_(weight) {}

  Status create(const Model& model, const fbs::Operator& op) {
    FloatConstant weight, bias;
    FERRY_TRY(constant_input(model, op, 1, &weight));
    FERRY_TRY(constant_input(model, op, 2, &bias));
    const fbs::ConvTranspose2d& p = params_;
    const size_t groups = static_cast<size_t>(p.groups());
    const size_t group_inputs = static_cast<size_t>(weight_[3]);
    const size_t group_outputs = static_cast<size_t>(weight_[0]) / groups;
    WeightsCache::Creation creation(model.weights_cache(), &op);
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_deconvolution2d_nhwc_f32(
        static_cast<uint32_t>(p.pad_top()), static_cast<uint32_t>(p.pad_right()), static_cast<uint32_t>(p.pad_bottom()),
        static_cast<uint32_t>(p.pad_left()), static_cast<uint32_t>(weight_[1]), static_cast<uint32_t>(weight_[2]),
        static_cast<uint32_t>(p.stride_h()), static_cast<uint32_t>(p.stride_w()), static_cast<uint32_t>(p.dilation_h()),
        static_cast<uint32_t>(p.dilation_w()), static_cast<uint32_t>(groups), group_inputs, group_outputs,
        groups * group_inputs, groups * group_outputs, weight.data, bias.data, p.output_min(), p.output_max(),
        /*flags=*/0, /*code_cache=*/nullptr, creation.next(), &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t pool, size_t* workspace) override {
    const Shape& x = inputs[0];
    *workspace = 0;
    // XNNPACK subtracts the phase of a stride (0 to stride - 1) from the output's size without looking, and multiplies
    // sizes to the length of its list of pointers without looking.
    for (int d : {1, 2}) {
      const int stride = d == 1 ? params_.stride_h() : params_.stride_w();
      if (output[d] < stride - 1)
        return error(FERRY_UNSUPPORTED, "conv_transpose2d: an output of %dx%d is too small for strides of %dx%d",
                     output[1], output[2], params_.stride_h(), params_.stride_w());
    }
    if (elements(output, 1, 3) > static_cast<size_t>(kMaxElements) / elements(weight_, 1, 3))
      return error(FERRY_UNSUPPORTED, "conv_transpose2d: an output of %dx%d is too large for a kernel of %dx%d",
                   output[1], output[2], weight_[1], weight_[2]);
    size_t height = 0, width = 0;
    FERRY_TRY(check(xnn_reshape_deconvolution2d_nhwc_f32(
                        xnn_.get(), static_cast<size_t>(x[0]), static_cast<size_t>(x[1]), static_cast<size_t>(x[2]),
                        static_cast<uint32_t>(params_.output_padding_h()),
                        static_cast<uint32_t>(params_.output_padding_w()), &height, &width, pool),
                    "reshaping"));
    if (height != static_cast<size_t>(output[1]) || width != static_cast<size_t>(output[2]))
      return error(FERRY_BACKEND_ERROR, "conv_transpose2d: XNNPACK plans an output of %zux%zu for %s", height, width,
                   to_string(output).c_str());
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_deconvolution2d_nhwc_f32(xnn_.get(), floats(inputs[0]), floats(output)), "setting up");
  }

 private:
  const fbs::ConvTranspose2d& params_;
  Shape weight_;
};

}  // namespace

Status create_conv_transpose2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto conv = std::make_unique<ConvTranspose2d>(*op.params_as_ConvTranspose2d(), model.shape(op.inputs()->Get(1)));
  FERRY_TRY(conv->create(model, op));
  *out = std::move(conv);
  return {};
}

}  // namespace ferry::cpu
