// Drivers that fail and drivers that report wrong capabilities: puts tests/gpu/fault_layer between the program and the
// driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/gpu/fault_layer/fault_layer.h"
#include "tests/support/environment.h"

namespace ferry::testing {

// Instances created in this object's lifetime contain the layer. The program has one instance at a time, which is
// destroyed with its last session, so create this first.
class Faults {
 public:
  Faults() : folder_("VK_ADD_LAYER_PATH", FERRY_FAULT_LAYER_FOLDER), layers_("VK_INSTANCE_LAYERS", layers()) {
    library_ = dlopen(FERRY_FAULT_LAYER, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    find("fault_arm", &arm);
    find("fault_calls", &calls);
    find("fault_call_name", &call_name);
    find("fault_fired", &fired);
    find("fault_set_quirks", &set_quirks);
    find("fault_corrupt", &corrupt);
    find("fault_corrupt_kernel", &corrupt_kernel);
    find("fault_set_corrupting_shader", &set_corrupting_shader);
    find("fault_corrupted", &corrupted);
    find("fault_live_objects", &live_objects);
    find("fault_live_list", &live_list);
    find("fault_live_bytes", &live_bytes);
    disarm();
    set_quirks(FAULT_NO_QUIRK);
  }
  ~Faults() {
    disarm();
    set_quirks(FAULT_NO_QUIRK);
    corrupt(0, 0, 0);
  }

  void disarm() { arm(UINT32_MAX, VK_SUCCESS); }
  // Call without live sessions and devices.
  void expect_nothing_alive() {
    EXPECT_EQ(live_objects(), 0u) << live_list();
    EXPECT_EQ(live_bytes(), 0u);
  }

  decltype(&fault_arm) arm = nullptr;
  decltype(&fault_calls) calls = nullptr;
  decltype(&fault_call_name) call_name = nullptr;
  decltype(&fault_fired) fired = nullptr;
  decltype(&fault_set_quirks) set_quirks = nullptr;
  decltype(&fault_corrupt) corrupt = nullptr;
  decltype(&fault_corrupt_kernel) corrupt_kernel = nullptr;
  decltype(&fault_set_corrupting_shader) set_corrupting_shader = nullptr;
  decltype(&fault_corrupted) corrupted = nullptr;
  decltype(&fault_live_objects) live_objects = nullptr;
  decltype(&fault_live_list) live_list = nullptr;
  decltype(&fault_live_bytes) live_bytes = nullptr;

 private:
  static std::string layers() {
    const char* others = std::getenv("VK_INSTANCE_LAYERS");
    return std::string("VK_LAYER_FERRY_fault") + (others && *others ? std::string(":") + others : "");
  }
  template <typename Function>
  void find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    EXPECT_NE(*function, nullptr) << name;
  }

  Environment folder_, layers_;
  void* library_ = nullptr;  // stays loaded: the Vulkan loader opens and closes it, but its counts must survive
};

}  // namespace ferry::testing
