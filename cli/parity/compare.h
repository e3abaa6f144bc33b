// What a network computed against what a fixture holds, tensor by tensor.
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
// The bound of a float16 run: every tensor's mean squared error over the reference's mean square. A port that stores
// halves rounds each value by up to 5e-4 of itself, at every operator; 1e-5 is a root mean square of 3e-3.
inline constexpr double kSquaredBound = 1e-5;

enum class Precision { Float32, Float16 };

// Which figure of a row its bound is for.
enum class Measure { Absolute, Relative, Squared };

// A tensor that the network gives, in the reference's layout.
struct Computed {
  Dims shape;
  int depth = 0;                             // position of the operator that writes it
  bool block = false;                        // the output of a block, which a blob always holds
  std::function<std::vector<float>()> read;  // integers as the nearest float
};
using ComputedTensors = std::map<std::string, Computed>;  // by module name

// One compared entry.
struct Row {
  std::string name;    // the fixture's
  std::string module;  // the blob's
  EntryKind kind = EntryKind::Tap;
  Dims shape;
  int depth = 0;
  size_t compared = 0;  // values: all of them or the samples
  double absmax = 0;    // the reference's
  double max_abs_error = 0;
  double relative_error = 0;    // max_abs_error / absmax
  double squared_error = 0;     // mean squared error over the reference's mean square, of the compared values
  double reference_error = -1;  // squared_error against the reference, where squared_error became another (judge.h)
  double rounding_cost = -1;    // what of reference_error rounding explains; negative: not measured
  double rounding_reach = -1;   // the largest difference that rounding makes to a value; negative: not measured
  double floor = -1;            // the reference's own float32 error relative to absmax; negative: not known
  Measure measure = Measure::Relative;
  double bound = 0;  // of that figure
  Dims worst;        // coordinates of the element with the largest error
  double worst_ours = 0, worst_reference = 0;
  bool in_bounds = false;
  std::string problem;  // where the comparison could not be made, or a value is not a number
};

struct Comparison {
  std::vector<Row> rows;                 // in network order
  std::vector<std::string> not_in_blob;  // inner taps, fused away, and levels that only inner taps would give
  std::vector<std::string> missing;      // block outputs and outputs that the blob must hold and does not

  // At least one row, all of them in bounds, nothing missing.
  bool passed() const;
  // NULL where every row is in bounds.
  const Row* first_out_of_bounds() const;
  // The row with the largest relative error, or squared error where that is what is bounded; NaN above all. NULL where
  // there are no rows.
  const Row* worst() const;
};

// `ours` holds the whole tensor.
Row compare_entry(const Entry& entry, const Dims& shape, std::span<const float> ours,
                  Precision precision = Precision::Float32);

// Every entry that `computed` holds. Rows are sorted by depth, entries of one depth as in the fixture. Of the others,
// outputs, pyramids and taps named like a block of the network (equal but for numbers) are missing; the rest is
// not_in_blob.
Comparison compare(const Fixture& fixture, const ComputedTensors& computed, Precision precision = Precision::Float32);

// The row's error on one scale for all rows of a comparison: relative_error, or the root of squared_error; and its
// bound on that scale.
double relative_figure(const Row& row);
double relative_bound(const Row& row);

}  // namespace ferry::parity
