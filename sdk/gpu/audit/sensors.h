// Temperatures and clocks from sysfs, where the system has them and lets the process read them.
#pragma once

#include <string>
#include <vector>

#include "sdk/graph/audit.h"

namespace ferry::gpu {

class Sensors {
 public:
  // Finds thermal zones (/sys/class/thermal), devices with a scaled clock (/sys/class/devfreq), the clock of Adreno
  // GPUs (/sys/class/kgsl) and of CPUs (/sys/devices/system/cpu). `root` is put before these paths.
  explicit Sensors(const std::string& root);
  // Reads all of them; those that cannot be read keep their values.
  void read();
  std::vector<AuditSensor> report() const;

 private:
  struct Source {
    std::string file;
    double unit;  // what the file's number is divided by
    AuditSensor sensor;
  };
  std::vector<Source> sources_;
};

}  // namespace ferry::gpu
