// The GPUs of the tests: software drivers that cmake/test_gpus.cmake finds.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace ferry::testing {

// Device names for session options ("llvmpipe", "SwiftShader"). Empty without a driver, as on an emulated target, and
// if the program was not started by ctest. build/dev/test_environment.sh sets the same variables.
inline std::vector<std::string> test_gpus() {
  std::vector<std::string> names;
  const char* list = std::getenv("FERRY_TEST_GPUS");
  std::istringstream words(list ? list : "");
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

}  // namespace ferry::testing
