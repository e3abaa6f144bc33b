// ferry bisect BLOB CKPT --fixture FIXTURE
#pragma once

#include "cli/arguments.h"

namespace ferry::bisect {

// Adds the subcommand; when it has run, *exit_code is 0 (in bounds) or 1 (a fault was found). Bad input is thrown as
// Error.
void add_command(CLI::App& app, int* exit_code);

}  // namespace ferry::bisect
