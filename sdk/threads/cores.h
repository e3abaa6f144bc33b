// Which of the machine's CPUs a session's threads run on. Boards have cores of several kinds, and an operator that
// waits for a small core's last index is slower than one that never asked it.
//
// Nothing here fails: what a system does not say, or says wrongly, leaves all CPUs that the process may use.
#pragma once

#include <ferry/ferry.h>
#include <sys/types.h>

#include <bitset>
#include <string>

namespace ferry {

// By the system's numbers. Larger machines are left to the system.
using CpuSet = std::bitset<1024>;

inline constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

// Those that the calling thread may use now, which are online: what a container, a cpuset or taskset leaves. None where
// the system does not say.
CpuSet allowed_cpus();
// Keeps a thread (by the system's number; 0: the calling one) on `cpus`. False where the system refuses.
bool place_thread(pid_t thread, const CpuSet& cpus);
// What `cores` names of `allowed`, as ferry.h defines it: by what the files under `folder` say, which are laid out as
// those of kCpuFolder.
CpuSet choose_cpus(ferry_cores cores, const CpuSet& allowed, const char* folder);
// "0-3,6", as the system writes them; "" for none.
std::string cpu_list(const CpuSet& cpus);
// The other way; none of what is no such list.
CpuSet read_cpu_list(const char* text);

}  // namespace ferry
