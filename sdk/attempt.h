// Where exceptions end. Inside the library the standard library's containers throw when memory runs out, and nothing
// else throws. Whoever is called by somebody who knows no exceptions calls on in attempt(): the functions of the C API
// by guarded() (sdk/api/handles.h), threads, destructors that allocate.
#pragma once

#include "sdk/status.h"

namespace ferry {

using AttemptedCall = Status (*)(const void* context);
Status attempt(AttemptedCall call, const void* context);

// What `call` returns, a Status; FERRY_OUT_OF_MEMORY where it throws.
template <typename Call>
Status attempt(const Call& call) {
  return attempt([](const void* context) -> Status { return (*static_cast<const Call*>(context))(); }, &call);
}

}  // namespace ferry
