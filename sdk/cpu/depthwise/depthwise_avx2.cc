#define FERRY_AVX2_VECTORS 1

#include "sdk/cpu/depthwise/depthwise.h"

#if defined(__x86_64__) && FERRY_HAS_DEPTHWISE

#include "sdk/cpu/depthwise/depthwise_op.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {

Status create_depthwise_avx2(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                             std::unique_ptr<Op>* out) {
  return make_depthwise<built_in(Feature::OtherDepthwise)>(params, weight, source, out);
}

}  // namespace ferry::cpu

#endif
