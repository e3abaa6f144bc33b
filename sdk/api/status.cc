#include <ferry/ferry.h>

#include <string_view>

#include "sdk/version.h"

namespace ferry {
namespace {

// A plain array, because reporting a failure must not allocate.
thread_local char last_error[1024];

}  // namespace

}  // namespace ferry

const char* ferry_version(void) { return ferry::kVersion; }

const char* ferry_last_error(void) { return ferry::last_error; }

ferry_status ferry_set_last_error(ferry_status status, const char* message) {
  const size_t length =
      std::string_view(message != nullptr ? message : "").copy(ferry::last_error, sizeof(ferry::last_error) - 1);
  ferry::last_error[length] = '\0';
  return status;
}

const char* ferry_status_name(ferry_status status) {
  switch (status) {
    case FERRY_OK: return "ok";
    case FERRY_INVALID_ARGUMENT: return "invalid argument";
    case FERRY_NOT_FOUND: return "not found";
    case FERRY_SHAPE_MISMATCH: return "shape mismatch";
    case FERRY_IO_ERROR: return "input/output error";
    case FERRY_NOT_A_BLOB: return "not a blob";
    case FERRY_UNSUPPORTED_VERSION: return "unsupported version";
    case FERRY_CORRUPT: return "corrupt blob";
    case FERRY_UNSUPPORTED: return "unsupported";
    case FERRY_OUT_OF_MEMORY: return "out of memory";
    case FERRY_MEMORY_LIMIT: return "memory limit";
    case FERRY_STATE_FULL: return "state full";
    case FERRY_CANCELLED: return "cancelled";
    case FERRY_BACKEND_ERROR: return "backend error";
    case FERRY_GPU_UNAVAILABLE: return "GPU unavailable";
    case FERRY_GPU_WRONG: return "gpu computes wrongly";
    case FERRY_GPU_LOST: return "GPU lost";
    case FERRY_NOT_AN_IMAGE: return "not an image";
    case FERRY_IMAGE_DAMAGED: return "damaged image";
    case FERRY_IMAGE_TOO_LARGE: return "image too large";
  }
  return "unknown status";
}
