#include "sdk/gpu/audit/sensors.h"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ferry::gpu {
namespace {

// The first line of a small file; "" if it cannot be read.
std::string read_line(const std::string& path) {
  char line[128] = "";
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  if (std::fgets(line, sizeof line, file) == nullptr) line[0] = '\0';
  std::fclose(file);
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

// The names in a folder that begin with `prefix`, sorted, shorter ones first ("cpu2" before "cpu10").
std::vector<std::string> entries(const std::string& folder, const char* prefix) {
  std::vector<std::string> names;
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open))
    if (std::strncmp(entry->d_name, prefix, std::strlen(prefix)) == 0 && entry->d_name[0] != '.')
      names.emplace_back(entry->d_name);
  closedir(open);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

}  // namespace

Sensors::Sensors(const std::string& root) {
  const auto add = [&](const std::string& file, double unit, std::string name, const char* unit_name) {
    if (!read_line(file).empty()) sources_.push_back({file, unit, {.name = std::move(name), .unit = unit_name}});
  };
  const std::string thermal = root + "/sys/class/thermal/";
  for (const std::string& zone : entries(thermal, "thermal_zone")) {
    const std::string type = read_line(thermal + zone + "/type");
    add(thermal + zone + "/temp", 1e3, type.empty() ? zone : type, "C");
  }
  const std::string devfreq = root + "/sys/class/devfreq/";
  for (const std::string& device : entries(devfreq, "")) add(devfreq + device + "/cur_freq", 1e6, device, "MHz");
  const std::string kgsl = root + "/sys/class/kgsl/";
  for (const std::string& device : entries(kgsl, "kgsl-")) add(kgsl + device + "/gpuclk", 1e6, device, "MHz");
  const std::string cpus = root + "/sys/devices/system/cpu/";
  for (const std::string& cpu : entries(cpus, "cpu")) add(cpus + cpu + "/cpufreq/scaling_cur_freq", 1e3, cpu, "MHz");
}

void Sensors::read() {
  for (Source& source : sources_) {
    const std::string line = read_line(source.file);
    char* end = nullptr;
    const double value = std::strtod(line.c_str(), &end) / source.unit;
    if (end == line.c_str()) continue;
    AuditSensor& s = source.sensor;
    if (s.readings++ == 0) s.first = s.lowest = s.highest = value;
    s.lowest = std::min(s.lowest, value);
    s.highest = std::max(s.highest, value);
    s.last = value;
  }
}

std::vector<AuditSensor> Sensors::report() const {
  std::vector<AuditSensor> out;
  for (const Source& source : sources_)
    if (source.sensor.readings > 0) out.push_back(source.sensor);
  return out;
}

}  // namespace ferry::gpu
