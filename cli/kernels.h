// Which kernels the CPU backend has chosen from, for people and to compare machines by.
#pragma once

#include <string>

namespace ferry::cli {

struct Kernels {
  std::string features;     // "arm64 dotprod fp16": what choices follow from, as far as this CPU has it
  std::string fingerprint;  // of the choice, in hexadecimal: machines with the same can share packed weights
};

// Of this machine. A session on the CPU has been made, which initialises XNNPACK. Throws Error where memory runs out.
Kernels cpu_kernels();

}  // namespace ferry::cli
