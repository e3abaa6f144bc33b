#include <algorithm>

#include "sdk/cpu/gemm_avx512.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/panels.h"
#include "sdk/cpu/weights_cache.h"

namespace ferry::cpu {
namespace {

class Linear : public PanelOp {
 public:
  Linear() : PanelOp(fbs::OpParams::Linear) {}

  Status create(const Model& model, const fbs::Operator& op, const float* weight, const float* bias,
                WeightsCache::Creation& creation) {
    const fbs::Linear& p = *op.params_as_Linear();
    const Shape w = model.shape(op.inputs()->Get(1)), x = model.shape(op.inputs()->Get(0));
    const size_t outputs = static_cast<size_t>(w[0]), inputs = static_cast<size_t>(w[1]);
    width_ = panel_width(elements(x, 0, x.rank - 1), inputs * sizeof(float), outputs);
    for (size_t begin = 0; begin < outputs; begin += width_) {
      xnn_operator_t created = nullptr;
      const xnn_status status = xnn_create_fully_connected_nc_f32(
          inputs, std::min(width_, outputs - begin), inputs, outputs, weight + begin * inputs,
          bias != nullptr ? bias + begin : nullptr, p.output_min(), p.output_max(), /*flags=*/0,
          /*code_cache=*/nullptr, creation.next(), &created);
      FERRY_TRY(add(status, created));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t pool, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    for (const XnnOperator& panel : panels_) {
      FERRY_TRY(check(xnn_reshape_fully_connected_nc_f32(panel.get(), elements(x, 0, x.rank - 1), within(pool)),
                      "reshaping"));
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    float* to = floats(output);
    for (const XnnOperator& panel : panels_) {
      FERRY_TRY(check(xnn_setup_fully_connected_nc_f32(panel.get(), floats(inputs[0]), to), "setting up"));
      to += width_;
    }
    return {};
  }
};

}  // namespace

Status create_linear(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const Shape w = model.shape(op.inputs()->Get(1)), x = model.shape(op.inputs()->Get(0));
  const fbs::Linear& p = *op.params_as_Linear();
  const Gemm gemm{1, static_cast<size_t>(w[1]), static_cast<size_t>(w[0]), p.output_min(), p.output_max()};
  FloatConstant weight, bias;
  FERRY_TRY(constant_input(model, op, 1, &weight));
  FERRY_TRY(constant_input(model, op, 2, &bias));
  WeightsCache::Creation creation(model.weights_cache(), &op);
  if (gemm_avx512_pays(elements(x, 0, x.rank - 1), gemm))
    return create_gemm_avx512(gemm, weight.data, bias.data, creation, out);
  auto linear = std::make_unique<Linear>();
  FERRY_TRY(linear->create(model, op, weight.data, bias.data, creation));
  *out = std::move(linear);
  return {};
}

}  // namespace ferry::cpu
