// Runs a blob on a fixture's inputs.
#pragma once

#include <ferry/ferry.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/sdk.h"
#include "sdk/model/model.h"

namespace ferry::parity {

// Opens the blob with the library. Throws Error with the file's name if that fails.
std::shared_ptr<Model> open_blob(const std::filesystem::path& blob);

// One graph of a blob, planned for the shapes of its inputs with every tap that the fixture names, and run.
class GraphRun {
 public:
  // `where`: the prefix of messages. `first_depth`: the number of operators that ran before it, in other graphs. Throws
  // Error like Network.
  GraphRun(cli::ModelHandle model, const std::string& where, const Fixture& fixture, ferry_session_options options,
           int first_depth);

  const Model& model() const;
  const cli::SessionHandle& session() const { return session_; }
  void add_tensors(ComputedTensors* out) const;

 private:
  struct Port {
    std::string name;
    int depth = 0;
    bool block = false;
  };

  void list_ports(const Fixture& fixture, int first_depth);
  void write_inputs(const std::vector<FixtureInput>& inputs);

  cli::ModelHandle model_;
  cli::SessionHandle session_;
  std::vector<Port> outputs_, taps_;
};

class Network {
 public:
  // Opens the blob, plans it for the shapes of the fixture's inputs with every tap that the fixture names, and runs it.
  // If its task has prompts (prompts.h), the prompted graph runs too. If it reads images (images.h), the vision graph
  // runs first, once per image. `options` has no taps. Throws Error if blob and fixture do not match, the run fails, or
  // it does not end on the backend of `options`.
  Network(const std::filesystem::path& blob, const Fixture& fixture, ferry_session_options options);
  // The same for a blob in memory.
  Network(std::span<const std::byte> blob, const Fixture& fixture, ferry_session_options options);

  const std::string& model_name() const { return model_name_; }
  const std::string& provenance() const { return provenance_; }
  uint64_t arena_bytes() const;
  // The first graph's report, with the operators of all graphs that ran on the CPU.
  ferry_report report() const;
  // True if operator `op`, counted through all graphs, ran on the GPU.
  bool on_gpu(size_t op) const;
  // The kinds of operators that ran on the CPU ("top_k"...), without those that read integers, for which the GPU has no
  // kernels.
  std::set<std::string> kinds_on_cpu() const;
  // Outputs and taps. Their readers are valid while the network lives.
  ComputedTensors tensors() const;

 private:
  void run(cli::ModelHandle model, const std::string& blob, const Fixture& fixture, ferry_session_options options);

  cli::AlignedBytes bytes_{nullptr, std::free};  // declared before the models that read it
  std::vector<std::unique_ptr<GraphRun>> graphs_;
  size_t images_ = 0;  // the first `images_` runs are of the vision graph, one per image
  std::string model_name_, provenance_;
};

}  // namespace ferry::parity
