// ferry bench of one blob.
#pragma once

#include <string>

#include "cli/sdk.h"

namespace ferry::cli {

struct BenchOptions {
  std::string model, graph;
  BackendOptions backend;
  ThreadOptions threads;
  int runs = 0, fps = 0, prompt_tokens = 0, new_tokens = 0;
  bool json = false, ops = false;
};

// Times it, and prints what it found. Throws Error.
int bench(BenchOptions options);

}  // namespace ferry::cli
