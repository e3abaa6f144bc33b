// A blob, run on a fixture's inputs.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

class Network {
 public:
  // Opens the blob, plans it for the shapes of the fixture's inputs with every tap that the fixture names, and runs it.
  // `threads` as in ferry_session_options. Throws Error where the two do not fit or the run fails.
  Network(const std::filesystem::path& blob, const Fixture& fixture, int threads);

  const std::string& model_name() const { return model_name_; }
  const std::string& provenance() const { return provenance_; }
  uint64_t arena_bytes() const { return ferry_session_arena_bytes(session_.get()); }
  // Outputs and taps; their readers work while the network lives.
  ComputedTensors tensors() const;

 private:
  struct Close {
    void operator()(ferry_model* model) const { ferry_model_close(model); }
    void operator()(ferry_session* session) const { ferry_session_close(session); }
  };
  struct Port {
    std::string name;
    int depth = 0;
    bool block = false;
  };

  void list_ports(const std::filesystem::path& blob, const Fixture& fixture);
  void write_input(const FixtureInput& input, size_t count);

  std::unique_ptr<ferry_model, Close> model_;
  std::unique_ptr<ferry_session, Close> session_;
  std::vector<Port> outputs_, taps_;
  std::string model_name_, provenance_;
};

}  // namespace ferry::parity
