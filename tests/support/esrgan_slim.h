// The npm package @upscalerjs/esrgan-slim: real weights, a picture and its published results.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace ferry {

inline constexpr char kNoEsrganSlim[] = "@upscalerjs/esrgan-slim is not in the cache: run scripts/fetch-esrgan-slim";

// Where scripts/fetch-esrgan-slim puts it; empty where it has not run.
inline std::filesystem::path esrgan_slim_dir() {
  namespace fs = std::filesystem;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if ((!cache || !*cache) && !home) return {};
  const fs::path base = cache && *cache ? fs::path(cache) : fs::path(home) / ".cache";
  const fs::path folder = base / "ferry" / "npm" / "esrgan-slim-1.0.0";
  return fs::is_directory(folder) ? folder : fs::path();
}

}  // namespace ferry
