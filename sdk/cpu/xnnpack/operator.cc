#include "sdk/cpu/xnnpack/operator.h"

#include "sdk/operators/shape_rules.h"

namespace ferry::cpu {

Status check(xnn_status status, fbs::OpParams type, const char* doing) {
  const char* name = op_name(type);
  switch (status) {
    case xnn_status_success: return {};
    case xnn_status_out_of_memory: return error(FERRY_OUT_OF_MEMORY, "%s: out of memory while %s", name, doing);
    case xnn_status_invalid_parameter:
    case xnn_status_unsupported_parameter:
    case xnn_status_unsupported_hardware:
      return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator (XNNPACK status %d while %s)", name,
                   static_cast<int>(status), doing);
    default: return error(FERRY_BACKEND_ERROR, "%s: XNNPACK status %d while %s", name, static_cast<int>(status), doing);
  }
}

}  // namespace ferry::cpu
