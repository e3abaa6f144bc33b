// The npm packages @upscalerjs/esrgan-slim and esrgan-thick: real weights, an image and its published results.
#pragma once

#include "tests/support/cache.h"

namespace ferry {

inline constexpr char kNoEsrganSlim[] =
    "@upscalerjs/esrgan-slim is not in the cache: run scripts/fetch-npm esrgan-slim";

// The folder of scripts/fetch-npm esrgan-slim; empty if that was not run.
inline std::filesystem::path esrgan_slim_dir() { return cached_dir("npm/esrgan-slim-1.0.0"); }

inline constexpr char kNoEsrganThick[] =
    "@upscalerjs/esrgan-thick is not in the cache: run scripts/fetch-npm esrgan-thick";

inline std::filesystem::path esrgan_thick_dir() { return cached_dir("npm/esrgan-thick-1.0.0"); }

}  // namespace ferry
