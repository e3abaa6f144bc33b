// Temporary environment variables.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ferry {

// Sets a variable for this object's lifetime; child processes see it too.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* former = std::getenv(name)) former_ = former;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { former_ ? setenv(name_, former_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> former_;
};

// Hides all Vulkan drivers.
class HiddenVulkan {
  Environment name_{"VK_DRIVER_FILES", "/nonexistent/driver.json"};
  Environment older_name_{"VK_ICD_FILENAMES", "/nonexistent/driver.json"};
};

}  // namespace ferry
