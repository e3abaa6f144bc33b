// The kernels that the CPU backend selects from, to print and to compare machines by.
#pragma once

#include <string>

namespace ferry::cli {

struct Kernels {
  std::string features;  // "arm64 dotprod fp16": the features of this CPU that decide the selection
  std::string
      fingerprint;  // of the selection, in hexadecimal; machines with equal fingerprints can share packed weights
};

// Of this machine. Requires that a CPU session was created, which initialises XNNPACK. Throws Error if out of memory.
Kernels cpu_kernels();

// Of this machine, by the name that its rates have (converter/quantize/times.h).
std::string instruction_set();

}  // namespace ferry::cli
