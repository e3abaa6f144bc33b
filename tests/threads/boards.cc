#include "tests/threads/boards.h"

#include <fstream>

namespace ferry::testing {

const std::vector<Board>& boards() {
  static const std::vector<Board> all = {
      {"Pixel 6 (Tensor G1): 4 A55, 2 A76, 2 X1",
       {{4, 160, 1803000}, {2, 498, 2253000}, {2, 1024, 2802000}},
       "4-7",
       "4-5",
       "0-3"},
      {"Snapdragon 8 Gen 2: 3 A510, 2 A715, 2 A710, X3",
       {{3, 350, 2016000}, {2, 852, 2803200}, {2, 852, 2803200}, {1, 1024, 3187200}},
       "3-7",
       "3-6",
       "0-2"},
      {"Raspberry Pi 4: 4 A72", {{4, 1024, 1500000}}, "0-3", "0-3", "0-3"},
      // Each pair of A76 has its own clock, binned by chip.
      {"Rock 5B (RK3588): 4 A55, 2 and 2 A76",
       {{4, 397, 1800000}, {2, 983, 2304000}, {2, 1024, 2400000}},
       "4-7",
       "4-7",
       "0-3"},
      {"Chromebook (MT8186): 6 A55, 2 A76", {{6, 372, 2000000}, {2, 1024, 2050000}}, "6-7", "6-7", "0-5"},
      {"Nexus 6P (Snapdragon 810), Linux 3.10: 4 A53, 4 A57", {{4, 0, 1555200}, {4, 0, 1958400}}, "4-7", "4-7", "0-3"},
      {"Ryzen 7 5800X: 8 cores of two threads", {{8, 0, 4850195, 2}}, "0-15", "0-15", "0-15"},
      // Two favoured cores.
      {"Core i7-12700K: 8 cores of two threads, 4 of one",
       {{6, 0, 4900000, 2}, {2, 0, 5000000, 2}, {4, 0, 3800000}},
       "0-19",
       "0-19",
       "0-19"},
      {"no cpufreq, as in a virtual machine", {{2, 0, 0}}, "0-1", "0-1", "0-1"},
  };
  return all;
}

CpuFolder::CpuFolder(const std::filesystem::path& path, const Board& board) : path_(path) {
  for (const Cluster& cluster : board.clusters) {
    for (int core = 0; core < cluster.cores; ++core) {
      const int first = cpus_, last = cpus_ + cluster.threads_a_core - 1;
      std::string siblings = std::to_string(first);
      if (last > first) siblings += "-" + std::to_string(last);
      for (; cpus_ <= last; ++cpus_) {
        const std::string cpu = "cpu" + std::to_string(cpus_) + "/";
        if (cluster.capacity > 0) write(cpu + "cpu_capacity", std::to_string(cluster.capacity));
        if (cluster.kilohertz > 0) write(cpu + "cpufreq/cpuinfo_max_freq", std::to_string(cluster.kilohertz));
        write(cpu + "topology/thread_siblings_list", siblings);
      }
    }
  }
  write("online", "0-" + std::to_string(cpus_ - 1));
}

void CpuFolder::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name) << text << '\n';
}

}  // namespace ferry::testing
