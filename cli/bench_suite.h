// ferry bench --suite: several blobs in one table, on a page with the machine, the date and the commit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/bench.h"

namespace ferry::cli {

struct SuiteOptions {
  std::vector<std::string> paths;  // blobs, and folders of them
  BenchOptions each;               // what is the same for all; `json`: the figures, in place of a table
  std::string page;                // where the page is written; "": nowhere
};

// kDone, or kCheckFailed where a blob could not be timed. Throws Error.
int bench_suite(const SuiteOptions& options);

// In bench_page.cc: of what --json prints (docs/performance.md, "A page of your own").
std::string suite_page(const nlohmann::ordered_json& suite);
// Likewise, for a terminal.
std::string suite_table(const nlohmann::ordered_json& suite);

}  // namespace ferry::cli
