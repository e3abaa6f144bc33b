// Selects the CPUs of a session's threads. Boards have cores of several kinds, and an operator that waits for a slow
// core's last index is slower than without that core.
//
// No call fails: if the system's data are missing or invalid, all CPUs that the process may use are selected.
#pragma once

#include <ferry/ferry.h>
#include <sys/types.h>

#include <bitset>
#include <string>

namespace ferry {

// By the system's CPU numbers. Larger machines are left to the system.
using CpuSet = std::bitset<1024>;

inline constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

// The online CPUs that the calling thread may use, as limited by a container, a cpuset or taskset. Empty if the system
// does not report them.
CpuSet allowed_cpus();
// Restricts a thread (by its system id; 0: the calling one) to `cpus`. False if the system refuses.
bool place_thread(pid_t thread, const CpuSet& cpus);
// The CPUs of `allowed` that `cores` selects, as ferry.h defines it. `folder` has the layout of kCpuFolder.
CpuSet choose_cpus(ferry_cores cores, const CpuSet& allowed, const char* folder);
// "0-3,6", in the system's format; "" for none.
std::string cpu_list(const CpuSet& cpus);
// Parses that format; empty if invalid.
CpuSet read_cpu_list(const char* text);

}  // namespace ferry
