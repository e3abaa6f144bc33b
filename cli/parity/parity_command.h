#pragma once

#include "cli/arguments.h"

namespace ferry {

// Adds the subcommand. After a run *exit_code is 0 (in bounds), 1 (out of bounds) or 2 (bad input, with one line on
// standard error).
void add_parity(CLI::App& app, int* exit_code);

}  // namespace ferry
