// Compiled for ARMv8.2 (cmake/sdk.cmake): must define nothing that other files also define.
#define FERRY_FLOAT16_VECTORS 1

#if defined(__aarch64__)

#include "sdk/cpu/depthwise/kernels.h"

namespace ferry::cpu::neon_float16::depthwise {

template Compute kernel<3, 1>(size_t count);
template Compute kernel<3, 2>(size_t count);
template Compute kernel<5, 1>(size_t count);
template Compute kernel<5, 2>(size_t count);

}  // namespace ferry::cpu::neon_float16::depthwise

#endif
