// SPDX-License-Identifier: Apache-2.0
// The loop from frames to answers.
#pragma once

#include <cstdio>
#include <stop_token>

#include "options.h"

namespace camera {

// Processes frames until there are no more, `stop` is requested or a permanent failure: JSON lines to `out`, messages
// to `err`. Returns the program's exit code: 0, or 2 with a message.
int run(const Options& options, std::stop_token stop, std::FILE* out, std::FILE* err, System& system = real_system());

}  // namespace camera
