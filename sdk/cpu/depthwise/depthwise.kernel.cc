#include "sdk/cpu/depthwise/depthwise.h"

#if FERRY_HAS_DEPTHWISE

#include "sdk/cpu/depthwise/depthwise_op.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {

bool depthwise_applies(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight) {
#if defined(__x86_64__)
  const bool runs_here = cpu.avx512f || cpu.avx2;
#else
  const bool runs_here = weight[0] % static_cast<int64_t>(kLanes) == 0;
  static_cast<void>(cpu);
#endif
  return runs_here && params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[1] <= kMaxKernelH &&
         weight[2] <= kMaxKernelW && params.dilation_h() == 1 && params.dilation_w() == 1 &&
         params.stride_h() <= kMaxStride && params.stride_w() <= kMaxStride &&
         (built_in(Feature::OtherDepthwise) || depthwise_is_common(params, weight));
}

Status create_depthwise(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                        std::unique_ptr<Op>* out) {
#if defined(__x86_64__)
  if (!cpu.avx512f) return create_depthwise_avx2(params, weight, source, out);
#else
  static_cast<void>(cpu);
#endif
  return make_depthwise<built_in(Feature::OtherDepthwise)>(params, weight, source, out);
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

bool depthwise_applies(const CpuFeatures&, const fbs::Conv2d&, const Shape&) { return false; }
Status create_depthwise(const CpuFeatures&, const fbs::Conv2d&, const Shape&, WeightSource&, std::unique_ptr<Op>*) {
  return {};
}

}  // namespace ferry::cpu

#endif
