#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/xnn.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

class Softmax : public XnnOp {
 public:
  Softmax() : XnnOp(fbs::OpParams::Softmax) {}

  Status create() {
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_softmax_nc_f32(/*flags=*/0, &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    const size_t channels = static_cast<size_t>(x[x.rank - 1]);
    return check(xnn_reshape_softmax_nc_f32(xnn_.get(), channels, channels, channels, elements(x, 0, x.rank - 1),
                                            as_xnnpack(pool)),
                 "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_softmax_nc_f32(xnn_.get(), floats(inputs[0]), floats(output)), "setting up");
  }
};

}  // namespace

Status create_softmax(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  auto softmax = std::make_unique<Softmax>();
  FERRY_TRY(softmax->create());
  *out = std::move(softmax);
  return {};
}

}  // namespace ferry::cpu
