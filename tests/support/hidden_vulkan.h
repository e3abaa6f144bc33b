// A process without Vulkan drivers, for a while; children that it starts have none either.
#pragma once

#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>

namespace ferry {

class HiddenVulkan {
 public:
  HiddenVulkan() {
    for (size_t i = 0; i < std::size(kVariables); ++i) {
      if (const char* value = std::getenv(kVariables[i])) former_[i] = value;
      setenv(kVariables[i], "/nonexistent/driver.json", 1);
    }
  }
  ~HiddenVulkan() {
    for (size_t i = 0; i < std::size(kVariables); ++i) {
      if (former_[i]) {
        setenv(kVariables[i], former_[i]->c_str(), 1);
      } else {
        unsetenv(kVariables[i]);
      }
    }
  }
  HiddenVulkan(const HiddenVulkan&) = delete;
  HiddenVulkan& operator=(const HiddenVulkan&) = delete;

 private:
  static constexpr const char* kVariables[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"};  // the newer name, the older one
  std::optional<std::string> former_[std::size(kVariables)];
};

}  // namespace ferry
