#include "sdk/cpu/gemm/gemm.h"

#if FERRY_HAS_GEMM

#include "sdk/cpu/gemm/conv_gemm.h"
#include "sdk/cpu/gemm/gemm_op.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

#if defined(__x86_64__)
constexpr bool kHasFloat16Gemm = false;  // XNNPACK has kernels that convert float16 and accumulate in float32
#else
constexpr bool kHasFloat16Gemm = built_in(Feature::Float16);
#endif

// Calls `use` with the kernel for this CPU and element type.
template <typename Use>
auto with_kernel([[maybe_unused]] const CpuFeatures& cpu, [[maybe_unused]] const Gemm& gemm, const Use& use) {
#if defined(__x86_64__)
  if (!tile::Avx512::runs_here(cpu)) return use(tile::Avx2(gemm));
  return use(tile::Avx512(gemm));
#else
  return use(tile::Neon<built_in(Feature::Float16)>(gemm));
#endif
}

template <typename Product>
Status create(std::unique_ptr<Product> op, WeightSource& source, std::unique_ptr<Op>* out) {
  FERRY_TRY(op->create(source));
  *out = std::move(op);
  return {};
}

}  // namespace

bool gemm_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm) {
  if (gemm.float16 && !kHasFloat16Gemm) return false;
  return with_kernel(cpu, gemm, [&](const auto& kernel) {
    return kernel.runs_here(cpu) && rows >= kernel.min_rows() && gemm.outputs >= kernel.min_outputs();
  });
}

Status create_gemm(const CpuFeatures& cpu, const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out) {
  return with_kernel(cpu, gemm, [&]<typename Kernel>(const Kernel&) {
    return create(std::make_unique<GemmOp<Kernel>>(cpu, gemm), source, out);
  });
}

Status create_conv_gemm(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm,
                        WeightSource& source, std::unique_ptr<Op>* out) {
  return with_kernel(cpu, gemm, [&]<typename Kernel>(const Kernel&) {
    return create(std::make_unique<ConvGemm<Kernel>>(cpu, gemm, params, weight_shape), source, out);
  });
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

Status create_gemm(const CpuFeatures&, const Gemm&, WeightSource&, std::unique_ptr<Op>*) { return {}; }
Status create_conv_gemm(const CpuFeatures&, const fbs::Conv2d&, const Shape&, const Gemm&, WeightSource&,
                        std::unique_ptr<Op>*) {
  return {};
}

}  // namespace ferry::cpu

#endif
