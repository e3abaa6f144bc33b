// The parts that this library contains: all, or those that some blobs need (cmake/operators.cmake). Users of a part
// check here at compile time, so that a part that is left out is not linked.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/operators/operators.h"
#include "sdk/status.h"

namespace ferry {

// Winograd and Integers: kernels with slower substitutes. OtherDepthwise: depthwise convolutions except the common ones
// (cpu::depthwise_is_common()), without which arm64 reports FERRY_UNSUPPORTED. Files: reading and writing image files.
// Float16: float16 arithmetic on the CPU, without which sessions compute in float32.
enum class Feature : uint8_t { Winograd, OtherDepthwise, Integers, Files, Float16 };

template <typename Part>
constexpr uint64_t bit(Part part) {
  return uint64_t{1} << static_cast<unsigned>(part);
}

#include "built_in_parts.h"

constexpr bool built_in(fbs::OpParams type) { return (kBuiltInOperators & bit(type)) != 0; }
constexpr bool built_in(Feature feature) { return (kBuiltInFeatures & bit(feature)) != 0; }
constexpr bool built_in(fbs::Task task) { return (kBuiltInTasks & bit(task)) != 0; }

template <typename... Parts>
constexpr bool any_built_in(Parts... parts) {
  return (built_in(parts) || ...);
}

// Whether an operator that reads or changes a state is built in; only these have states in a blob.
constexpr bool states_built_in() {
#define FERRY_BUILT_IN(Type, ...) || built_in(fbs::OpParams::Type)
  return false FERRY_OPERATORS_WITH_STATE(FERRY_BUILT_IN);
#undef FERRY_BUILT_IN
}

// The error for a part that is not built in.
inline Status left_out(const char* name) {
  return error(FERRY_UNSUPPORTED,
               "%s is not in this library, which was built for other models: build it for this one, too "
               "(ferry build --for)",
               name);
}

inline Status without_files() {
  return error(FERRY_UNSUPPORTED, "this library cannot read or write image files: it was built with --no-files");
}

}  // namespace ferry
