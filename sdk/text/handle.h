// RAII handles for the C API, and conversion of its statuses.
#pragma once

#include <ferry/ferry.h>

#include <memory>

#include "sdk/status.h"

namespace ferry {

struct CloseHandle {
  void operator()(ferry_model* model) const { ferry_model_close(model); }
  void operator()(ferry_session* session) const { ferry_session_close(session); }
  void operator()(ferry_states* states) const { ferry_states_close(states); }
};
using ModelHandle = std::unique_ptr<ferry_model, CloseHandle>;
using SessionHandle = std::unique_ptr<ferry_session, CloseHandle>;
using StatesHandle = std::unique_ptr<ferry_states, CloseHandle>;

// A Status from a C API call; the message is this thread's last error.
inline Status status_of(ferry_status status) {
  return status == FERRY_OK ? Status() : error(status, "%s", ferry_last_error());
}

}  // namespace ferry
