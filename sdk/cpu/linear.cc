#include <algorithm>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// XNNPACK walks all output channels for every few rows: weights that do not stay in a core's L2 cache stream again each
// time. Cut into panels, an operator each, they are read from further away once.
constexpr size_t kPanelBytes = 256 << 10;
constexpr size_t kFewRows = 32;    // below, there is little to reuse
constexpr size_t kNarrowest = 64;  // channels of a panel
constexpr size_t kTile = 16;       // that microkernels compute together

size_t panel_width(size_t rows, size_t inputs, size_t outputs) {
  if (rows < kFewRows || inputs * outputs * sizeof(float) <= 2 * kPanelBytes) return outputs;
  const size_t fitting = std::max(kPanelBytes / (inputs * sizeof(float)), kNarrowest);
  const size_t panels = (outputs + fitting - 1) / fitting;
  return ((outputs + panels - 1) / panels + kTile - 1) / kTile * kTile;
}

class Linear : public Op {
 public:
  Status create(const Model& model, const fbs::Operator& op) {
    FloatConstant weight, bias;
    FERRY_TRY(constant_input(model, op, 1, &weight));
    FERRY_TRY(constant_input(model, op, 2, &bias));
    const fbs::Linear& p = *op.params_as_Linear();
    const Shape w = model.shape(op.inputs()->Get(1)), x = model.shape(op.inputs()->Get(0));
    const size_t outputs = static_cast<size_t>(w[0]), inputs = static_cast<size_t>(w[1]);
    width_ = panel_width(elements(x, 0, x.rank - 1), inputs, outputs);
    WeightsCache::Creation creation(model.weights_cache(), &op);
    for (size_t begin = 0; begin < outputs; begin += width_) {
      xnn_operator_t created = nullptr;
      const xnn_status status = xnn_create_fully_connected_nc_f32(
          inputs, std::min(width_, outputs - begin), inputs, outputs, weight.data + begin * inputs,
          bias.data != nullptr ? bias.data + begin : nullptr, p.output_min(), p.output_max(), /*flags=*/0,
          /*code_cache=*/nullptr, creation.next(), &created);
      if (status == xnn_status_success) panels_.emplace_back(created);
      FERRY_TRY(check(status, fbs::OpParams::Linear, "creating"));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t pool, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    for (const XnnOperator& panel : panels_) {
      FERRY_TRY(check(xnn_reshape_fully_connected_nc_f32(panel.get(), elements(x, 0, x.rank - 1), pool),
                      fbs::OpParams::Linear, "reshaping"));
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    float* to = floats(output);
    for (const XnnOperator& panel : panels_) {
      FERRY_TRY(check(xnn_setup_fully_connected_nc_f32(panel.get(), floats(inputs[0]), to), fbs::OpParams::Linear,
                      "setting up"));
      to += width_;
    }
    return {};
  }

  Status run(pthreadpool_t pool) override {
    for (const XnnOperator& panel : panels_)
      FERRY_TRY(check(xnn_run_operator(panel.get(), pool), fbs::OpParams::Linear, "running"));
    return {};
  }

 private:
  size_t width_ = 0;  // of all panels but the last
  std::vector<XnnOperator> panels_;
};

}  // namespace

Status create_linear(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto linear = std::make_unique<Linear>();
  FERRY_TRY(linear->create(model, op));
  *out = std::move(linear);
  return {};
}

}  // namespace ferry::cpu
