// From a fixture's first tensor out of bounds down to the operator that is wrong, and the likely cause.
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

// What is at fault.
enum class Fault {
  None,             // every tensor is in bounds
  Backend,          // the operator's result is not what the oracle computes from the same inputs
  Conversion,       // the blob's operator is not what the checkpoint's graph, built without passes, has there
  Passes,           // the passes changed what the graph computes there
  Graph,            // blob and graph agree operator by operator, and the reference does not: the family's code is wrong
  OtherCheckpoint,  // the blob was made from another file than this one, whose weights differ
  OtherWeights,     // blob and graph agree, and the fixture was computed with other weights
};

struct Finding {
  Fault fault = Fault::None;
  std::string first;  // the fixture's first tensor out of bounds; empty: none is
  double first_error = 0;
  std::string graph;  // of the blob's, where it has several: in which the fault is
  std::string op;     // "conv2d"; empty: it is one of `region`
  std::string name;   // the operator's module, or "before" that of the next that has one
  std::string parameters;
  std::vector<std::string> from;    // of a graph at fault: the tensors in bounds between which and `first` it lies
  std::vector<std::string> region;  // the graph's operators there, or, of a conversion, what the blob's stands for
  std::vector<std::string> unlike;  // of other weights: the tensors that differ...
  size_t alike = 0;                 // ...and how many do not
  double error = 0;                 // its departure, relative to the absolute maximum of what is right
  std::string worst;                // the worst element: where, what it is and what is right
  std::string cause;                // empty: none that was tried gives these values
  double cause_error = 0;           // what the cause leaves of the error
  std::string pattern;              // what the values tell by themselves
  size_t runs = 0, operators = 0, causes = 0;  // of the network, compared with the oracle, tried
  bool limited = false;                        // more causes are known than the budget of work allowed
};

// How the network is run: for the backend in question, and for tests that make one faulty.
using RunNetwork =
    std::function<std::unique_ptr<parity::Network>(std::span<const std::byte> blob, const parity::Fixture&)>;

// `convert` says how the graph is built from the checkpoint: as the blob was. Throws Error where the two do not belong
// together. Of a blob whose task has prompts (cli/parity/prompts.h) both graphs are searched, each run by itself: the
// second one on what the reference gave in the place of the first, or where the fixture has only samples of that, on
// what the first one gave, which is in bounds by then. `from`: whose code builds the graph.
Finding bisect(std::span<const std::byte> blob, const ConvertOptions& convert, const parity::Fixture& fixture,
               const RunNetwork& run, Families from = families());

// What the command prints, line by line.
std::string told(const Finding& finding, double seconds);

// How the blob was converted, by its provenance, for the checkpoint at `checkpoint`.
ConvertOptions conversion_of(const fbs::Graph& blob, const std::filesystem::path& checkpoint);

// What an operator of the graph is told by: its module, what it gives or the table that it reads, else "before" the
// next module. May be empty.
std::string name_of(const fbs::OperatorT& op, const fbs::GraphT& graph);

}  // namespace ferry::bisect
