#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

class Linear : public XnnOp {
 public:
  Linear() : XnnOp(fbs::OpParams::Linear) {}

  Status create(const Model& model, const fbs::Operator& op) {
    FloatConstant weight, bias;
    FERRY_TRY(constant_input(model, op, 1, &weight));
    FERRY_TRY(constant_input(model, op, 2, &bias));
    const fbs::Linear& p = *op.params_as_Linear();
    const Shape w = model.shape(op.inputs()->Get(1));
    const size_t outputs = static_cast<size_t>(w[0]), inputs = static_cast<size_t>(w[1]);
    WeightsCache::Creation creation(model.weights_cache(), &op);
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_fully_connected_nc_f32(inputs, outputs, inputs, outputs, weight.data,
                                                                bias.data, p.output_min(), p.output_max(), /*flags=*/0,
                                                                /*code_cache=*/nullptr, creation.next(), &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t pool, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    return check(xnn_reshape_fully_connected_nc_f32(xnn_.get(), elements(x, 0, x.rank - 1), pool), "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_fully_connected_nc_f32(xnn_.get(), floats(inputs[0]), floats(output)), "setting up");
  }
};

}  // namespace

Status create_linear(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto linear = std::make_unique<Linear>();
  FERRY_TRY(linear->create(model, op));
  *out = std::move(linear);
  return {};
}

}  // namespace ferry::cpu
