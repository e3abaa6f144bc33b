#include "cli/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "sdk/threads/cores.h"

namespace ferry::cli {
namespace {

#if defined(__x86_64__)
constexpr const char* kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "arm64";
#elif defined(__arm__)
constexpr const char* kArchitecture = "armv7";
#elif defined(__riscv)
constexpr const char* kArchitecture = "riscv64";
#else
constexpr const char* kArchitecture = "unknown";
#endif

std::string text_in(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

// The values of a key in "key : value" lines, each once.
std::vector<std::string> values_of(const std::string& text, const std::string& key) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':'), end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (colon == std::string::npos || colon == 0 || line.substr(0, end + 1) != key) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    const std::string value = begin == std::string::npos ? "" : line.substr(begin);
    if (!value.empty() && std::find(out.begin(), out.end(), value) == out.end()) out.push_back(value);
  }
  return out;
}

// Arm's own cores by the part numbers of their MIDR_EL1, as cpuinfo (src/arm/uarch.c) has them, and those after the
// Neoverse V2 Linux (arch/arm64/include/asm/cputype.h).
const std::map<std::string, const char*>& arm_parts() {
  static const std::map<std::string, const char*> parts = {
      {"0xc05", "Cortex-A5"},   {"0xc07", "Cortex-A7"},   {"0xc08", "Cortex-A8"},   {"0xc09", "Cortex-A9"},
      {"0xc0e", "Cortex-A17"},  {"0xc0f", "Cortex-A15"},  {"0xd01", "Cortex-A32"},  {"0xd03", "Cortex-A53"},
      {"0xd04", "Cortex-A35"},  {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"},  {"0xd08", "Cortex-A72"},
      {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"},  {"0xd0b", "Cortex-A76"},  {"0xd0c", "Neoverse-N1"},
      {"0xd0d", "Cortex-A77"},  {"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"},  {"0xd44", "Cortex-X1"},
      {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"}, {"0xd48", "Cortex-X2"},   {"0xd49", "Neoverse-N2"},
      {"0xd4d", "Cortex-A715"}, {"0xd4e", "Cortex-X3"},   {"0xd4f", "Neoverse-V2"}, {"0xd81", "Cortex-A720"},
      {"0xd82", "Cortex-X4"},   {"0xd84", "Neoverse-V3"}, {"0xd85", "Cortex-X925"}, {"0xd87", "Cortex-A725"},
      {"0xd8e", "Neoverse-N3"}};
  return parts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

std::string system_name() {
  std::string name;
  std::istringstream lines(text_in("/etc/os-release"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("PRETTY_NAME=")) name = line.substr(12);
  std::erase(name, '"');
  utsname kernel;
  if (uname(&kernel) != 0) return name.empty() ? "unknown" : name;
  return name + (name.empty() ? "" : ", ") + kernel.sysname + " " + kernel.release;
}

}  // namespace

std::string cpu_name(const std::string& cpuinfo) {
  if (const auto names = values_of(cpuinfo, "model name"); !names.empty()) return joined(names);
  std::vector<std::string> names;
  const auto implementers = values_of(cpuinfo, "CPU implementer");
  for (const std::string& part : values_of(cpuinfo, "CPU part")) {
    const auto known = arm_parts().find(part);
    const bool arms = implementers.size() == 1 && implementers.front() == "0x41";
    names.push_back(arms && known != arm_parts().end() ? known->second
                                                       : "part " + part + " of implementer " +
                                                             (implementers.empty() ? "unknown" : joined(implementers)));
  }
  if (names.empty()) names = values_of(cpuinfo, "uarch");
  return names.empty() ? "unknown" : joined(names);
}

bool is_emulated(const std::string& cpuinfo, const std::string& kernel_architecture, const std::string& architecture) {
  const bool x86 = architecture == "x86-64";
  if (kernel_architecture == "x86_64" && !x86) return true;
  if (kernel_architecture == "aarch64" && architecture != "arm64" && architecture != "armv7") return true;
  if (!x86 && !values_of(cpuinfo, "vendor_id").empty()) return true;  // only x86 has this key
  return cpuinfo.find("QEMU") != std::string::npos;
}

Machine this_machine() {
  Machine out;
  const std::string cpuinfo = text_in("/proc/cpuinfo");
  out.architecture = kArchitecture;
  out.emulated = is_emulated(cpuinfo, text_in("/proc/sys/kernel/arch"), out.architecture);
  out.cpu = cpu_name(cpuinfo);
  if (out.emulated) {
    const char* cpu = std::getenv("QEMU_CPU");
    out.cpu = (cpu == nullptr ? std::string("an emulated CPU") : "emulated " + std::string(cpu)) + ", on " + out.cpu;
  }
  out.board = text_in("/proc/device-tree/model");
  out.system = system_name();
  out.cores = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const size_t allowed = allowed_cpus().count();
  out.allowed = allowed == 0 ? out.cores : static_cast<unsigned>(allowed);
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) out.memory_bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
  return out;
}

}  // namespace ferry::cli
