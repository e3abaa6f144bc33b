// The GPUs that tests run on: software drivers that cmake/test_gpus.cmake finds.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace ferry::testing {

// What a session's options may call each of them ("llvmpipe", "SwiftShader"). Empty where there is no driver, as on an
// emulated target, or where the program was not started by ctest: build/dev/test_environment.sh sets the same
// variables.
inline std::vector<std::string> test_gpus() {
  std::vector<std::string> names;
  const char* list = std::getenv("FERRY_TEST_GPUS");
  std::istringstream words(list ? list : "");
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

// Keeps every library mapped that is now: what a driver leaves behind can then be told from what we do (lsan.supp).
inline void keep_drivers() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        static_cast<std::vector<std::string>*>(out)->push_back(info->dlpi_name);
        return 0;
      },
      &names);
  for (const std::string& name : names)
    if (!name.empty()) (void)dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace ferry::testing
