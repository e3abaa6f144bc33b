// A blob, run on a fixture's inputs.
#pragma once

#include <ferry/ferry.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/sdk.h"
#include "sdk/model/model.h"

namespace ferry::parity {

// The blob as the library sees it. Throws Error with the file's name where it cannot be opened.
std::shared_ptr<Model> open_blob(const std::filesystem::path& blob);

class Network {
 public:
  // Opens the blob, plans it for the shapes of the fixture's inputs with every tap that the fixture names, and runs it.
  // `options` without taps. Throws Error where the two do not fit, the run fails, or does not end on the backend that
  // `options` ask for.
  Network(const std::filesystem::path& blob, const Fixture& fixture, ferry_session_options options);
  // The same for a blob's bytes.
  Network(std::span<const std::byte> blob, const Fixture& fixture, ferry_session_options options);

  const std::string& model_name() const { return model_name_; }
  const std::string& provenance() const { return provenance_; }
  uint64_t arena_bytes() const { return ferry_session_arena_bytes(session_.get()); }
  ferry_report report() const { return cli::report_of(session_); }
  // Ran operator `op` of the graph there?
  bool on_gpu(size_t op) const;
  // Outputs and taps; their readers work while the network lives.
  ComputedTensors tensors() const;

 private:
  struct Port {
    std::string name;
    int depth = 0;
    bool block = false;
  };

  void run(const std::string& blob, const Fixture& fixture, ferry_session_options options);
  void list_ports(const Fixture& fixture);
  void write_input(const FixtureInput& input, size_t count);

  std::unique_ptr<void, decltype(&std::free)> bytes_{nullptr, std::free};  // aligned; before the model that reads it
  cli::ModelHandle model_;
  cli::SessionHandle session_;
  std::vector<Port> outputs_, taps_;
  std::string model_name_, provenance_;
};

}  // namespace ferry::parity
