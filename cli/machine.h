// The machine that something is measured on, as its system describes it.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::cli {

struct Machine {
  std::string cpu;           // "Intel(R) Xeon(R) Gold 6330 CPU", "Cortex-A76 and Cortex-A55"; "unknown"
  std::string board;         // where the system names one: "Raspberry Pi 5 Model B Rev 1.0"
  std::string architecture;  // that this program was built for: "x86-64", "arm64", "armv7", "riscv64"
  std::string system;        // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  unsigned cores = 0;        // online
  unsigned allowed = 0;      // of them, which this process may use
  uint64_t memory_bytes = 0;
  bool emulated = false;
};

Machine this_machine();

// Parts of it, by the texts of the system's files.
std::string cpu_name(const std::string& cpuinfo);
// `cpuinfo` and `kernel_architecture` (/proc/sys/kernel/arch, "" where there is none) are the machine's, not those of
// what it emulates: a program in user mode emulation sees them.
bool is_emulated(const std::string& cpuinfo, const std::string& kernel_architecture, const std::string& architecture);

// The commit of the checkout that this program was built in, 12 digits; "unknown" where it was built of an archive.
const char* built_from();

}  // namespace ferry::cli
