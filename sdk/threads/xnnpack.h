// Passes a Pool to XNNPACK's operators.
#pragma once

#include <pthreadpool.h>

#include "sdk/threads/pool.h"

namespace ferry {

// For xnn_run_operator() and other calls with a pool. pthreadpool's own functions cannot use it. Null stays null.
pthreadpool_t as_xnnpack(Pool* pool);

}  // namespace ferry
