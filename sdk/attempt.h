// The boundary for exceptions. Inside the library, only the standard library's containers throw, when memory runs out.
// A function whose caller does not handle exceptions runs its body in attempt(): functions of the C API (through
// guarded(), sdk/api/guard.h), threads, and destructors that allocate.
#pragma once

#include "sdk/status.h"

namespace ferry {

using AttemptedCall = Status (*)(const void* context);
Status attempt(AttemptedCall call, const void* context);

// Returns `call`'s Status, or FERRY_OUT_OF_MEMORY if it throws.
template <typename Call>
Status attempt(const Call& call) {
  return attempt([](const void* context) -> Status { return (*static_cast<const Call*>(context))(); }, &call);
}

}  // namespace ferry
