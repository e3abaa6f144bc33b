// Folders that scripts put into the cache for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ferry {

// The folder `name` in ferry's cache; empty if it does not exist.
inline std::filesystem::path cached_dir(const std::string& name) {
  namespace fs = std::filesystem;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if ((!cache || !*cache) && !home) return {};
  const fs::path base = cache && *cache ? fs::path(cache) : fs::path(home) / ".cache";
  const fs::path folder = base / "ferry" / name;
  return fs::is_directory(folder) ? folder : fs::path();
}

}  // namespace ferry
