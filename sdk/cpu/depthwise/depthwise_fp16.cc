#define FERRY_FLOAT16_VECTORS 1

#include "sdk/cpu/depthwise/depthwise.h"

#if defined(__aarch64__)

#include "sdk/cpu/depthwise/depthwise_op.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {

bool float16_depthwise_applies(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight) {
  constexpr int64_t kWeights = 25;
  return cpu.float16 && params.groups() == weight[0] && weight[3] == 1 &&
         weight[0] % static_cast<int64_t>(kLanes) == 0 && int64_t{weight[1]} * weight[2] <= kWeights &&
         (weight[2] == 3 || weight[2] == 5) && params.dilation_h() == 1 && params.dilation_w() == 1 &&
         params.stride_h() <= kMaxStride && params.stride_w() <= kMaxStride &&
         (built_in(Feature::OtherDepthwise) || depthwise_is_common(params, weight));
}

Status create_float16_depthwise(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                                std::unique_ptr<Op>* out) {
  return make_depthwise<built_in(Feature::OtherDepthwise)>(params, weight, source, out);
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

bool float16_depthwise_applies(const CpuFeatures&, const fbs::Conv2d&, const Shape&) { return false; }
Status create_float16_depthwise(const fbs::Conv2d&, const Shape&, WeightSource&, std::unique_ptr<Op>*) { return {}; }

}  // namespace ferry::cpu

#endif
