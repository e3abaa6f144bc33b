// A description of the machine that figures are measured on.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::cli {

struct Machine {
  std::string cpu;           // "Intel(R) Xeon(R) Gold 6330 CPU", "Cortex-A76 and Cortex-A55"; "unknown"
  std::string board;         // if the system names one: "Raspberry Pi 5 Model B Rev 1.0"
  std::string architecture;  // that this program was built for: "x86-64", "arm64", "armv7", "riscv64"
  std::string system;        // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  unsigned cores = 0;        // online
  unsigned allowed = 0;      // cores that this process may use
  uint64_t memory_bytes = 0;
  bool emulated = false;
};

Machine this_machine();

// Parts of the description, parsed from the system's files.
std::string cpu_name(const std::string& cpuinfo);
// Under user mode emulation, `cpuinfo` and `kernel_architecture` (/proc/sys/kernel/arch, "" if missing) are those of
// the host.
bool is_emulated(const std::string& cpuinfo, const std::string& kernel_architecture, const std::string& architecture);

// The commit of the checkout that this program was built in, 12 digits; "unknown" if it was built from an archive.
const char* built_from();

}  // namespace ferry::cli
