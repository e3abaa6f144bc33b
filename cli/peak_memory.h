// The peak memory of this process.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace ferry::cli {

inline uint64_t peak_resident_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Anonymous memory of this process in bytes; 0 if the system does not report it.
inline uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (status >> word)
    if (word == "RssAnon:") status >> kilobytes;
  return kilobytes * 1024;
}

}  // namespace ferry::cli
