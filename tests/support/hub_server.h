// A local Hugging Face hub on the loopback interface (hub_server.py), and the environment that selects it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/scratch_folder.h"

namespace ferry {

class HubServer {
 public:
  // Serves `model` as model.safetensors. Needs python3.
  explicit HubServer(const std::string& model);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // The value of HF_HOME.
  const std::filesystem::path& home() const { return home_; }
  // The folder of models--ORG--NAME in the cache.
  std::filesystem::path cached(const std::string& name) const { return home_ / "hub" / ("models--org--" + name); }
  // The requests so far, as hub_server.py logs them, that contain `words`.
  std::vector<std::string> requests(const std::string& words = "") const;

  static constexpr const char* kCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  static constexpr const char* kV1 = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

 private:
  ScratchFolder folder_;
  std::filesystem::path home_ = folder_.path() / "home";
  pid_t process_ = -1;
  int input_ = -1;
  std::vector<std::unique_ptr<Environment>> environment_;
};

}  // namespace ferry
