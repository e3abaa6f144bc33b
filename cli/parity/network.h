// A blob, run on a fixture's inputs.
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

// The blob as the library sees it. Throws Error with the file's name where it cannot be opened.
std::shared_ptr<Model> open_blob(const std::filesystem::path& blob);

// One graph of a blob, planned for the shapes of its inputs with every tap that the fixture names, and run.
class GraphRun {
 public:
  // `where`: for messages. `first_depth`: operators that ran before it, in other graphs. Throws Error as Network does.
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
  // Opens the blob, plans it for the shapes of the fixture's inputs with every tap that the fixture names, and runs it;
  // where its task has prompts (prompts.h), the graph that takes them as well; where it sees images (images.h),
  // first the graph that does, for each. `options` without taps. Throws Error
  // where the two do not fit, the run fails, or does not end on the backend that `options` ask for.
  Network(const std::filesystem::path& blob, const Fixture& fixture, ferry_session_options options);
  // The same for a blob's bytes.
  Network(std::span<const std::byte> blob, const Fixture& fixture, ferry_session_options options);

  const std::string& model_name() const { return model_name_; }
  const std::string& provenance() const { return provenance_; }
  uint64_t arena_bytes() const;
  // The first graph's, with the operators of all that were left to the CPU.
  ferry_report report() const;
  // Ran operator `op` there? Counted through all graphs.
  bool on_gpu(size_t op) const;
  // The kinds of operators that ran on the CPU ("top_k"...), but for those that take an integer: no kernel does.
  std::set<std::string> kinds_on_cpu() const;
  // Outputs and taps; their readers work while the network lives.
  ComputedTensors tensors() const;

 private:
  void run(cli::ModelHandle model, const std::string& blob, const Fixture& fixture, ferry_session_options options);

  cli::AlignedBytes bytes_{nullptr, std::free};  // before the models that read it
  std::vector<std::unique_ptr<GraphRun>> graphs_;
  size_t images_ = 0;  // the first so many run one graph, for an image each
  std::string model_name_, provenance_;
};

}  // namespace ferry::parity
