// What this process has needed.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace ferry::cli {

inline uint64_t peak_resident_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace ferry::cli
