#include <algorithm>

#include "sdk/cpu/gemm.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/panels.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

class Linear : public PanelOp {
 public:
  Linear() : PanelOp(fbs::OpParams::Linear) {}

  Status create(const Gemm& gemm, size_t width, WeightSource& source) {
    width_ = width;
    for (size_t begin = 0; begin < gemm.outputs; begin += width_) {
      const size_t outputs = std::min(width_, gemm.outputs - begin);
      const PackingId id = PackingId("xnnpack fully_connected f32", kXnnLayouts).add(begin).add(outputs);
      const XnnPacking packing{.source = source, .id = id};
      FERRY_TRY(add(packing, [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
        return xnn_create_fully_connected_nc_f32(gemm.inputs, outputs, gemm.inputs, gemm.outputs,
                                                 floats(weight) + begin * gemm.inputs,
                                                 bias != nullptr ? bias + begin : nullptr, gemm.output_min,
                                                 gemm.output_max, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
      }));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    for (const PackedXnn& panel : panels_) {
      FERRY_TRY(
          check(xnn_reshape_fully_connected_nc_f32(panel.get(), elements(x, 0, x.rank - 1), as_xnnpack(within(pool))),
                "reshaping"));
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    float* to = floats(output);
    for (const PackedXnn& panel : panels_) {
      FERRY_TRY(check(xnn_setup_fully_connected_nc_f32(panel.get(), floats(inputs[0]), to), "setting up"));
      to += width_;
    }
    return {};
  }
};

}  // namespace

Status create_linear(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const Shape w = model.shape(op.inputs()->Get(1)), x = model.shape(op.inputs()->Get(0));
  const fbs::Linear& p = *op.params_as_Linear();
  const size_t rows = elements(x, 0, x.rank - 1);
  const Gemm gemm{1, static_cast<size_t>(w[1]), static_cast<size_t>(w[0]), p.output_min(), p.output_max()};
  WeightSource source(model, op);
  if (gemm_pays(cpu, rows, gemm)) return create_gemm(cpu, gemm, source, out);
  auto linear = std::make_unique<Linear>();
  FERRY_TRY(linear->create(gemm, panel_width(rows, gemm.inputs * sizeof(float), gemm.outputs), source));
  *out = std::move(linear);
  return {};
}

}  // namespace ferry::cpu
