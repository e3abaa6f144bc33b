// Compares the tensors that a network computed with a fixture's.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/parity/fixture.h"

namespace ferry::parity {

// The bounds of a float32 port, on the normwise relative error |ours - reference|_max / |reference|_max: 1e-4 for every
// tensor. `logits` must also be within 1e-3 absolute, since a probability depends on differences of logits. They tell a
// wrong epsilon, a flipped kernel, padding on the wrong side and a tanh GELU from rounding.
inline constexpr double kLogitsBound = 1e-3;
inline constexpr double kRelativeBound = 1e-4;
// The bound of a float16 run, for every tensor's mean squared error relative to the reference's mean square. Stored
// float16 values are rounded by up to 5e-4 of themselves at every operator; 1e-5 is a root mean square of 3e-3.
inline constexpr double kSquaredBound = 1e-5;

enum class Precision { Float32, Float16 };

// The figure of a row that its bound applies to.
enum class Measure { Absolute, Relative, Squared };

// An output or tap of the network, in the reference's layout.
struct Computed {
  Dims shape;
  int depth = 0;                             // index of the operator that writes it
  bool block = false;                        // the output of a block, which every blob keeps
  std::function<std::vector<float>()> read;  // integers as the nearest float
};
using ComputedTensors = std::map<std::string, Computed>;  // by module name

// The comparison of one entry.
struct Row {
  std::string name;    // in the fixture
  std::string module;  // in the blob
  EntryKind kind = EntryKind::Tap;
  Dims shape;
  int depth = 0;
  size_t compared = 0;  // number of values compared: all or the samples
  double absmax = 0;    // of the reference
  double max_abs_error = 0;
  double relative_error = 0;    // max_abs_error / absmax
  double squared_error = 0;     // mean squared error over the reference's mean square, of the compared values
  double reference_error = -1;  // the error against the reference, if squared_error was replaced (judge.h)
  double rounding_cost = -1;    // the part of reference_error that rounding explains; negative if not measured
  double rounding_reach = -1;   // the largest change of a value by rounding; negative if not measured
  double floor = -1;            // the reference's own float32 error relative to absmax; negative if unknown
  Measure measure = Measure::Relative;
  double bound = 0;  // for the figure that `measure` selects
  Dims worst;        // coordinates of the element with the largest error
  double worst_ours = 0, worst_reference = 0;
  bool in_bounds = false;
  std::string problem;  // set if the comparison was impossible or a value is not finite
};

struct Comparison {
  std::vector<Row> rows;                 // in network order
  std::vector<std::string> not_in_blob;  // inner taps that were fused away, and pyramid levels that only these would
                                         // provide
  std::vector<std::string> missing;      // block outputs and outputs that the blob must hold and does not

  // At least one row, all of them in bounds, nothing missing.
  bool passed() const;
  // Null if every row is in bounds.
  const Row* first_out_of_bounds() const;
  // The row with the largest relative error, or squared error if that is bounded; NaN counts as largest. Null if there
  // are no rows.
  const Row* worst() const;
};

// `ours` holds the whole tensor.
Row compare_entry(const Entry& entry, const Dims& shape, std::span<const float> ours,
                  Precision precision = Precision::Float32);

// Compares every entry that `computed` holds. Rows are sorted by depth, then in the fixture's order. Of the other
// entries, outputs, pyramids and taps named like a block of the network (equal but for numbers) are missing; the rest
// is not_in_blob.
Comparison compare(const Fixture& fixture, const ComputedTensors& computed, Precision precision = Precision::Float32);

// The row's error and its bound on a scale common to all rows of a comparison: relative_error, or the root of
// squared_error.
double relative_figure(const Row& row);
double relative_bound(const Row& row);

}  // namespace ferry::parity
