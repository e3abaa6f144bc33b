// ferry bench --suite: several blobs in one table, on a page with the machine, the date and the commit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/bench.h"

namespace ferry::cli {

struct SuiteOptions {
  std::vector<std::string> paths;  // blobs, and folders of them
  BenchOptions each;               // the options of all; `json`: prints JSON instead of a table
  std::string page;                // the page to write; "": none
};

// Returns kDone, or kCheckFailed if a blob could not be timed. Throws Error.
int bench_suite(const SuiteOptions& options);

// In bench_page.cc: the page, from the JSON of --json (docs/performance.md, "A page of your own").
std::string suite_page(const nlohmann::ordered_json& suite);
// The table for a terminal, from the same JSON.
std::string suite_table(const nlohmann::ordered_json& suite);

}  // namespace ferry::cli
