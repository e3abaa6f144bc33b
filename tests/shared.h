// What lies beside the project and is not part of it: parity fixtures, real weights, photographs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include "tests/support/paths.h"

namespace ferry {

// The folder FERRY_SHARED names, else `../shared` of the source tree; empty where neither exists. Tests that need it
// GTEST_SKIP() with a message when it is empty.
inline std::filesystem::path shared_dir() {
  namespace fs = std::filesystem;
  const char* named = std::getenv("FERRY_SHARED");
  const fs::path folder = named ? fs::path(named) : source_folder() / ".." / "shared";
  return fs::is_directory(folder) ? fs::canonical(folder) : fs::path();
}

}  // namespace ferry
