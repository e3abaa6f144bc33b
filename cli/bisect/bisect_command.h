// ferry bisect BLOB CKPT --fixture FIXTURE
#pragma once

#include "cli/arguments.h"

namespace ferry::bisect {

// Adds the subcommand. After a run *exit_code is 0 (in bounds) or 1 (a fault was found). Throws Error for bad input.
void add_command(CLI::App& app, int* exit_code);

}  // namespace ferry::bisect
