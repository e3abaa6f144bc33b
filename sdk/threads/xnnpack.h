// How XNNPACK's operators are given a pool of ours.
#pragma once

#include <pthreadpool.h>

#include "sdk/threads/pool.h"

namespace ferry {

// For xnn_run_operator() and what else takes a pool; pthreadpool's own functions would not know it. Null stays null.
pthreadpool_t as_xnnpack(Pool* pool);

}  // namespace ferry
