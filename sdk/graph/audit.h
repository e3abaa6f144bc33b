// An audit of a GPU (ferry_gpu_audit()): what is asked for, and what was seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ferry {

// Whether this library replays, watches and audits GPU kernels: the CMake option FERRY_GPU_CHECKS.
#if defined(FERRY_GPU_CHECKS_LEFT_OUT)
inline constexpr bool kHasGpuChecks = false;
#else
inline constexpr bool kHasGpuChecks = true;
#endif
inline constexpr const char* kNoGpuChecks =
    "this library was built without checks of GPU kernels: build it with -DFERRY_GPU_CHECKS=ON";

struct AuditRequest {
  double seconds = 300;
  const char* root = "";                                 // before /sys, for tests
  void (*progress)(void* user, double share) = nullptr;  // from 0 to 1
  void* user = nullptr;
};

struct AuditOperator {
  std::string name, op, shape, kernel;
  uint64_t runs = 0, differed = 0;
  bool compared = false;  // with the CPU
  double error = 0;       // against the CPU, as a fraction of what rounding explains
  std::string problem;    // "" if none
  bool right() const { return differed == 0 && problem.empty(); }
};

// A temperature or a clock, as the system reports it.
struct AuditSensor {
  std::string name, unit;  // "cpu-0", "C"; "cpu0", "MHz"
  double first = 0, lowest = 0, highest = 0, last = 0;
  uint64_t readings = 0;
};

struct AuditReport {
  std::vector<AuditOperator> operators;  // in the order of the graph, one for each kernel and size
  std::vector<AuditSensor> sensors;
  double seconds = 0;
  std::string lost;  // why the audit ended early, "" if it did not
};

}  // namespace ferry
