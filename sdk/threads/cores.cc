#include "sdk/threads/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ferry {
namespace {

// A number in sysfs that ranks cores.
struct Measure {
  const char* file;
  // Maximum for little cores, in percent of the fastest core.
  uint64_t little;
  bool of_shared_cores;  // whether it is valid for two hardware threads of one core
};
constexpr Measure kMeasures[] = {
    // Computing capacity: clock and architecture. Most little cores have 16 to 58 (Tensor G1, MT8173). Using a little
    // core as a big one costs little, because its work is stolen; the reverse loses a core.
    {"cpu_capacity", 60, true},
    // The maximum clock is less precise, but is all that kernels before 4.13 report: little cores have up to 79
    // (Snapdragon 810). On a PC it ranks the favoured cores.
    {"cpufreq/cpuinfo_max_freq", 80, false},
};
// Cores of at least this percentage count as equal: bins of one design, favoured cores.
constexpr uint64_t kAlike = 90;

// Parses a text from its start.
class Scanner {
 public:
  explicit Scanner(const char* text) : at_(text) {}

  bool number(uint64_t* value) {
    const char* const begin = at_;
    for (*value = 0; *at_ >= '0' && *at_ <= '9' && at_ - begin < 10; ++at_)
      *value = 10 * *value + static_cast<uint64_t>(*at_ - '0');
    return at_ > begin;
  }
  bool take(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }
  bool ends() {
    take('\n');
    return *at_ == '\0';
  }

 private:
  const char* at_;
};

// A sysfs file; at most one page.
class File {
 public:
  [[gnu::format(printf, 2, 3)]] explicit File(const char* format, ...) {
    char path[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    const int file = static_cast<size_t>(length) < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    const ssize_t size = read(file, text_, sizeof text_);
    close(file);
    text_[size > 0 && static_cast<size_t>(size) < sizeof text_ ? size : 0] = '\0';
  }

  // A number above 0; 0 if it is anything else.
  uint64_t number() const {
    Scanner scanner(text_);
    uint64_t value = 0;
    return scanner.number(&value) && scanner.ends() ? value : 0;
  }
  CpuSet list() const { return read_cpu_list(text_); }

 private:
  char text_[4097] = "";
};

bool shares_core(const char* folder, size_t cpu) {
  CpuSet cpus = File("%s/cpu%zu/topology/core_cpus_list", folder, cpu).list();
  if (cpus.none()) cpus = File("%s/cpu%zu/topology/thread_siblings_list", folder, cpu).list();
  return cpus.count() > 1;
}

using Strengths = std::array<uint64_t, CpuSet().size()>;

// The first measure that is known for every CPU; null if there is none.
const Measure* measure(const CpuSet& cpus, const char* folder, Strengths* strengths) {
  for (const Measure& tried : kMeasures) {
    bool known = true;
    for (size_t cpu = 0; cpu < cpus.size() && known; ++cpu) {
      (*strengths)[cpu] = cpus[cpu] ? File("%s/cpu%zu/%s", folder, cpu, tried.file).number() : 0;
      known = !cpus[cpu] || ((*strengths)[cpu] > 0 && (tried.of_shared_cores || !shares_core(folder, cpu)));
    }
    if (known) return &tried;
  }
  return nullptr;
}

}  // namespace

CpuSet allowed_cpus() {
  CpuSet cpus;
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cpus;
  for (size_t cpu = 0; cpu < std::min<size_t>(cpus.size(), CPU_SETSIZE); ++cpu) cpus[cpu] = CPU_ISSET(cpu, &allowed);
#endif
  return cpus;
}

bool place_thread([[maybe_unused]] pid_t thread, [[maybe_unused]] const CpuSet& cpus) {
#if defined(__linux__)
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (size_t cpu = 0; cpu < std::min<size_t>(cpus.size(), CPU_SETSIZE); ++cpu)
    if (cpus[cpu]) CPU_SET(cpu, &wanted);
  return sched_setaffinity(thread, sizeof(wanted), &wanted) == 0;
#else
  return false;
#endif
}

CpuSet choose_cpus(ferry_cores cores, const CpuSet& allowed, const char* folder) {
  CpuSet cpus = allowed & File("%s/online", folder).list();
  if (cpus.none()) cpus = allowed;
  Strengths strengths;
  const Measure* by = cores != FERRY_CORES_ALL ? measure(cpus, folder, &strengths) : nullptr;
  if (by == nullptr || cpus.none()) return cpus;

  // The maximum of each cluster, in descending order.
  std::vector<uint64_t> clusters;
  for (uint64_t bound = UINT64_MAX, fastest = 0;; bound = kAlike * fastest, fastest = 0) {
    for (const uint64_t strength : strengths)
      if (100 * strength < bound) fastest = std::max(fastest, strength);
    if (fastest == 0) break;
    clusters.push_back(fastest);
  }
  size_t first = 0, end = clusters.size();
  if (cores == FERRY_CORES_EFFICIENT) {
    first = end - 1;
  } else {
    if (100 * clusters.back() < by->little * clusters.front()) --end;
    if (cores == FERRY_CORES_BALANCED && end > 1) first = 1;
  }
  clusters.push_back(0);
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu)
    cpus[cpu] = strengths[cpu] <= clusters[first] && strengths[cpu] > clusters[end];
  return cpus;
}

CpuSet read_cpu_list(const char* text) {
  Scanner scanner(text);
  CpuSet cpus;
  do {
    uint64_t first = 0, last = 0;
    if (!scanner.number(&first)) return {};
    last = first;
    if (scanner.take('-') && !scanner.number(&last)) return {};
    if (last < first || last >= cpus.size()) return {};
    for (; first <= last; ++first) cpus[first] = true;
  } while (scanner.take(','));
  return scanner.ends() ? cpus : CpuSet();
}

std::string cpu_list(const CpuSet& cpus) {
  std::string list;
  for (size_t first = 0; first < cpus.size(); ++first) {
    if (!cpus[first]) continue;
    size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1]) ++last;
    char range[48];
    std::snprintf(range, sizeof range, last > first ? "%s%zu-%zu" : "%s%zu", list.empty() ? "" : ",", first, last);
    list += range;
    first = last;
  }
  return list;
}

}  // namespace ferry
