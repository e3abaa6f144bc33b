// Quantises a float network: searches for the plan with the smallest measured error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/quantize/measure.h"
#include "converter/quantize/weight_variants.h"

namespace ferry::int8 {

// What the quantised network must keep.
struct Bound {
  enum class Kind : uint8_t {
    Top1,  // at least this percentage of images have the float network's best class
    Sqnr,  // the outputs have at least this signal to quantisation noise ratio, in dB
  };
  Kind kind = Kind::Sqnr;
  double value = 0;

  // "top1=99" or "sqnr=25". Throws Error for anything else.
  static Bound parse(const std::string& text);
  bool holds(const OutputError& error) const;
  // What the error reaches of it, in words.
  std::string reached(const OutputError& error) const;
};

struct SearchOptions {
  int threads = 0;  // as in SessionOptions
  std::optional<Bound> bound;
  bool explain = false;  // fill Result::rows
  std::function<void(const std::string& step, double fraction)> progress;
};

// What an operator costs.
struct OperatorError {
  size_t op = 0;  // index in the float graph
  Role role = Role::Float;
  bool int8 = false;
  bool released = false;  // Float32 because the bound needs it
  // SQNR in dB of the outputs, where only this operator computes on Int8, and where all others of the plan do.
  std::optional<double> alone, without;
};

struct Result {
  std::unique_ptr<Graph> graph;  // the integer graph
  OutputError tune, held_out;
  bool equalised = false;  // see equalise.h
  bool has_classes = false;
  RangeRule rule = RangeRule::MinMax;  // of all ranges but the changed ones
  size_t ranges = 0, changed_ranges = 0;
  Rounding rounding = Rounding::Nearest;
  std::vector<OperatorError> rows;  // by operator of the float graph; without errors unless explained
};

// `graph`: of one network without states. Deterministic: the result does not depend on the number of threads. Throws
// Error if no operator has an integer form, a sample does not run, or no plan with an Int8 operator holds the bound.
Result quantise(Graph& graph, const Split& split, const SearchOptions& options);

}  // namespace ferry::int8
