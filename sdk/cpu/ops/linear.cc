#include <algorithm>

#include "sdk/cpu/backend/algorithms.h"
#include "sdk/cpu/xnnpack/panels.h"
#include "sdk/operators/built_in.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

#if defined(__aarch64__)
constexpr bool kFloat16Linear = false;  // only our own kernels
#else
constexpr bool kFloat16Linear = built_in(Feature::Float16);
#endif

class Linear : public PanelOp {
 public:
  explicit Linear(bool float16) : PanelOp(fbs::OpParams::Linear), float16_(float16) {}

  Status create(const Gemm& gemm, size_t width, WeightSource& source) {
    width_ = width;
    for (size_t begin = 0; begin < gemm.outputs; begin += width_) {
      const size_t outputs = std::min(width_, gemm.outputs - begin);
      const PackingId id =
          PackingId(float16_ ? "xnnpack fully_connected f16" : "xnnpack fully_connected f32", kXnnLayouts)
              .add(begin)
              .add(outputs);
      const XnnPacking packing{.source = source, .id = id};
      FERRY_TRY(add(packing, [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
        const auto created = [&](auto function) {
          return function(gemm.inputs, outputs, gemm.inputs, gemm.outputs,
                          DataPointer(floats(weight) + begin * gemm.inputs), bias != nullptr ? bias + begin : nullptr,
                          gemm.output_min, gemm.output_max, float16_ ? XNN_FLAG_FP32_STATIC_WEIGHTS : 0,
                          /*code_cache=*/nullptr, cache, op);
        };
        return with_float16<kFloat16Linear>(float16_, created, xnn_create_fully_connected_nc_f16,
                                            xnn_create_fully_connected_nc_f32);
      }));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    for (const PackedXnn& panel : panels_) {
      const auto plan = [&](auto function) {
        return function(panel.get(), elements(x, 0, x.rank - 1), as_xnnpack(within(pool)));
      };
      FERRY_TRY(check(with_float16<kFloat16Linear>(float16_, plan, xnn_reshape_fully_connected_nc_f16,
                                                   xnn_reshape_fully_connected_nc_f32),
                      "reshaping"));
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    auto* to = static_cast<std::byte*>(output);
    for (const PackedXnn& panel : panels_) {
      const auto set = [&](auto function) { return function(panel.get(), DataPointer(inputs[0]), DataPointer(to)); };
      FERRY_TRY(check(with_float16<kFloat16Linear>(float16_, set, xnn_setup_fully_connected_nc_f16,
                                                   xnn_setup_fully_connected_nc_f32),
                      "setting up"));
      to += width_ * element_bytes(float16_);
    }
    return {};
  }

 private:
  const bool float16_;
};

}  // namespace

Status create_xnnpack_linear(const Weighted& weighted, std::unique_ptr<Op>* out) {
  const Gemm& gemm = weighted.gemm;
  WeightSource source(weighted.model, weighted.op);
  auto linear = std::make_unique<Linear>(weighted.float16);
  const size_t width = panel_width(weighted.rows, gemm.inputs * element_bytes(weighted.float16), gemm.outputs);
  FERRY_TRY(linear->create(gemm, width, source));
  *out = std::move(linear);
  return {};
}

bool xnnpack_linear_applies(const Weighted& weighted) { return !weighted.float16 || kFloat16Linear; }

}  // namespace ferry::cpu
