// Locates data outside the repository: parity fixtures, real weights, photographs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include "tests/support/paths.h"

namespace ferry {

// The folder FERRY_SHARED, by default `../shared` of the source tree; empty if it does not exist. Tests that need it
// then call GTEST_SKIP() with a message.
inline std::filesystem::path shared_dir() {
  namespace fs = std::filesystem;
  const char* named = std::getenv("FERRY_SHARED");
  const fs::path folder = named ? fs::path(named) : source_folder() / ".." / "shared";
  return fs::is_directory(folder) ? fs::canonical(folder) : fs::path();
}

}  // namespace ferry
