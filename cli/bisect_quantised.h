// ferry bisect of a quantised blob and the float blob that it was made from.
#pragma once

#include <string>
#include <vector>

#include "cli/sdk.h"

namespace ferry::cli {

// Prints the first faulty operator and its cause. Returns the exit code. Throws Error.
int bisect_quantised(const std::string& blob, const std::string& float_blob, const std::vector<std::string>& images,
                     const ThreadOptions& threads);

}  // namespace ferry::cli
