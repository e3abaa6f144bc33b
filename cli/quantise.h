// ferry quantise, also as a part of `ferry convert`.
#pragma once

#include <string>
#include <vector>

#include "cli/sdk.h"

namespace ferry::cli {

struct QuantiseOptions {
  std::string model, output, bound, device, budget, page;
  std::vector<std::string> images;
  bool explain = false;
  ThreadOptions threads;
};

// Writes the quantised blob and prints what it did. Returns the exit code. Throws Error.
int quantise(const QuantiseOptions& options);

}  // namespace ferry::cli
