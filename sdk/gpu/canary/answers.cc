#include "sdk/gpu/canary/answers.h"

#include "sdk/operators/built_in.h"
#include "sdk/reference/ops.h"

namespace ferry::gpu {

// Functions that are not named here are not linked. A new operator is in one of the four lists, or this does not
// compile.
reference::Function answers_of(fbs::OpParams type) {
  switch (type) {
#define FERRY_ANSWER(Type, name, ...)                                    \
  case fbs::OpParams::Type:                                              \
    if constexpr (built_in(fbs::OpParams::Type)) return reference::name; \
    break;
    FERRY_OPERATORS_ON_GPU(FERRY_ANSWER)
    FERRY_OPERATORS_WITH_STATE_ON_GPU(FERRY_ANSWER)
#undef FERRY_ANSWER
#define FERRY_NO_ANSWER(Type, ...) case fbs::OpParams::Type:
    FERRY_OPERATORS_ON_CPU(FERRY_NO_ANSWER)
    FERRY_OPERATORS_WITH_STATE_ON_CPU(FERRY_NO_ANSWER)
#undef FERRY_NO_ANSWER
    case fbs::OpParams::NONE: break;
  }
  return nullptr;
}

}  // namespace ferry::gpu
