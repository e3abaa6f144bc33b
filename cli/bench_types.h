// ferry bench --types: what operators cost in float and on Int8.
#pragma once

#include <string>

#include "cli/sdk.h"

namespace ferry::cli {

struct TypesOptions {
  std::string model, output;
  ThreadOptions threads;
  BackendOptions backend;
  int runs = 0;
};

// Writes a file that `ferry quantise --device` reads, and prints a table. Throws Error.
int bench_types(const TypesOptions& options);

}  // namespace ferry::cli
