// Folders like /sys/devices/system/cpu of real boards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ferry::testing {

// Cores of one kind, numbered after those of the previous cluster.
struct Cluster {
  int cores;
  uint64_t capacity;       // cpu_capacity; 0: the kernel has no such file
  uint64_t kilohertz;      // cpufreq/cpuinfo_max_freq; 0: no such file
  int threads_a_core = 1;  // numbered consecutively
};

struct Board {
  const char* name;
  std::vector<Cluster> clusters;
  // The expected FERRY_CORES_PERFORMANCE, _BALANCED and _EFFICIENT.
  const char *performance, *balanced, *efficient;
};

// Capacities as the kernel computes them: capacity-dmips-mhz of the device tree times the highest clock, 1024 for the
// fastest core.
const std::vector<Board>& boards();

// The board's folder inside the test's folder.
class CpuFolder {
 public:
  explicit CpuFolder(const std::filesystem::path& path) : path_(path) {}
  CpuFolder(const std::filesystem::path& path, const Board& board);

  // Writes `text` and a newline to a file in the folder.
  void write(const std::string& name, const std::string& text) const;
  void remove(const std::string& name) const { std::filesystem::remove_all(path_ / name); }
  const char* path() const { return path_.c_str(); }
  int cpus() const { return cpus_; }

 private:
  std::filesystem::path path_;
  int cpus_ = 0;
};

}  // namespace ferry::testing
