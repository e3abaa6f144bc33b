// Searches from a fixture's first tensor out of bounds to the faulty operator and the likely cause.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "models/families.h"

namespace ferry::bisect {

// The part that is at fault.
enum class Fault {
  None,             // every tensor is in bounds
  Backend,          // the operator's result differs from the oracle's for the same inputs
  Conversion,       // the blob's operator differs from the checkpoint's graph, built without passes
  Passes,           // the passes changed what the graph computes
  Graph,            // blob and graph agree, but the reference differs: the family's code is wrong
  OtherCheckpoint,  // the blob was made from another file, with other weights
  OtherWeights,     // blob and graph agree, but the fixture was computed with other weights
};

struct Finding {
  Fault fault = Fault::None;
  std::string first;  // the fixture's first tensor out of bounds; empty if all are in bounds
  double first_error = 0;
  std::string graph;  // the graph with the fault, if the blob has several
  std::string op;     // "conv2d"; empty if it is one of `region`
  std::string name;   // the operator's module, or "before" and the next operator's module
  std::string parameters;
  std::vector<std::string> from;    // Fault::Graph: the tensors in bounds from which the faulty region computes `first`
  std::vector<std::string> region;  // Fault::Graph: the region's operators. Fault::Conversion: the operators that the
                                    // blob's replaces
  std::vector<std::string> unlike;  // OtherWeights: the tensors that differ
  size_t alike = 0;                 // OtherWeights: how many tensors agree
  double error = 0;                 // relative to the absolute maximum of the right values
  std::string worst;                // the worst element: position, value, right value
  std::string cause;                // empty if no known cause explains the values
  double cause_error = 0;           // the error that remains with the cause
  std::string pattern;              // a regularity of the values themselves; see pattern_of
  size_t runs = 0, operators = 0, causes = 0;  // network runs, operators compared with the oracle, causes tried
  bool limited = false;                        // the budget of work did not allow all known causes
};

// Runs the network. Tests pass one that makes an operator faulty.
using RunNetwork =
    std::function<std::unique_ptr<parity::Network>(std::span<const std::byte> blob, const parity::Fixture&)>;

// Finds the fault of `blob`. `convert` must build the graph as the blob was converted. `from`: the families whose code
// builds the graph. If the blob's task has prompts (cli/parity/prompts.h), both graphs are searched, each run by
// itself. The second one's inputs are the reference's outputs of the first; where the fixture holds only samples of
// these, they are the first graph's own outputs, which are in bounds by then. Throws Error if blob, checkpoint and
// fixture do not belong together.
Finding bisect(std::span<const std::byte> blob, const ConvertOptions& convert, const parity::Fixture& fixture,
               const RunNetwork& run, Families from = families());

// The command's output.
std::string finding_text(const Finding& finding, double seconds);

// The options the blob was converted with, from its provenance, for the checkpoint at `checkpoint`.
ConvertOptions conversion_of(const fbs::Graph& blob, const std::filesystem::path& checkpoint);

// The operator's name for reports: its module, its output or the table it reads, else "before" and the next operator's
// module. May be empty.
std::string name_of(const fbs::OperatorT& op, const fbs::GraphT& graph);

}  // namespace ferry::bisect
