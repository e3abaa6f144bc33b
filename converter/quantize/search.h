// Quantises a float network: searches for the plan with the smallest measured error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/quantize/bound.h"
#include "converter/quantize/measure.h"
#include "converter/quantize/release.h"
#include "converter/quantize/times.h"
#include "converter/quantize/weight_variants.h"

namespace ferry::int8 {

struct SearchOptions {
  int threads = 0;  // as in SessionOptions
  std::optional<Bound> bound;
  Answers* answers = nullptr;    // for bounds that need them
  const Times* times = nullptr;  // null: Int8 always pays
  double budget = 0;             // as ReleaseOptions::budget
  bool explain = false;          // fill Result::rows
  std::function<void(const std::string& step, double fraction)> progress;
};

// What an operator costs.
struct OperatorError {
  size_t op = 0;  // index in the float graph
  Role role = Role::Float;
  bool int8 = false;
  Reason reason = Reason::None;     // why it is released to float
  double real_us = 0, int8_us = 0;  // its time in each type, without conversions; 0 without times
  // SQNR in dB of the outputs, where only this operator computes on Int8, and where all others of the plan do.
  std::optional<double> alone, without;
};

// Predicted microseconds of a run.
struct Prediction {
  double real = 0, fastest = 0, chosen = 0;  // the float network, the fastest one, and the result
  size_t known = 0;                          // operators with times of a file
};

struct Result {
  std::unique_ptr<Graph> graph;  // the integer graph
  OutputError tune, held_out;
  bool equalised = false;  // see equalise.h
  bool has_classes = false;
  RangeRule rule = RangeRule::MinMax;  // of all ranges but the changed ones
  size_t ranges = 0, changed_ranges = 0;
  Rounding rounding = Rounding::Nearest;
  std::optional<Prediction> time;
  std::vector<OperatorError> rows;  // by operator of the float graph; without errors unless explained
};

// `graph`: of one network without states. Deterministic: the result does not depend on the number of threads. Throws
// NoIntegers if no operator has an integer form, or no plan with an Int8 operator holds the bound or is faster than the
// float network; Error if a sample does not run.
Result quantise(Graph& graph, const Split& split, const SearchOptions& options);

}  // namespace ferry::int8
