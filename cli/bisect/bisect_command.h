// ferry bisect BLOB CKPT --fixture FIXTURE
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/sdk.h"

namespace ferry::bisect {

// Searches a blob of `ferry quantise` with its float blob; returns the exit code.
using SearchQuantised = std::function<int(const std::string& blob, const std::string& float_blob,
                                          const std::vector<std::string>& images, const cli::ThreadOptions& threads)>;

// Adds the subcommand. After a run *exit_code is 0 (in bounds) or 1 (a fault was found). Throws Error for bad input.
void add_command(CLI::App& app, SearchQuantised quantised, int* exit_code);

}  // namespace ferry::bisect
