// Which operators stay in float although they have an integer form: those that do not pay, and those that a bound
// needs.
#pragma once

#include <functional>
#include <vector>

#include "converter/error.h"
#include "converter/quantize/bound.h"
#include "converter/quantize/times.h"

namespace ferry::int8 {

enum class Reason : uint8_t {
  None,   // it is not released
  Time,   // Int8 does not pay, conversions included
  Bound,  // the bound needs it
  Gain,   // it costs little time, and the error falls
};

// No Int8 form of a network is of use. The sentence says why.
class NoIntegers : public Error {
 public:
  using Error::Error;
};

struct ReleaseOptions {
  const TimeModel* times = nullptr;  // null: every operator costs the same
  const Bound* bound = nullptr;
  double budget = 0;  // at most so many times the fastest network's time; 0: at most the float network's
  // The error of a network with these operators on Int8. `judge`: also what the bound needs.
  std::function<OutputError(const std::vector<bool>& integer, bool judge)> measure;
  std::function<void(double)> progress;
};

class Releases {
 public:
  // Begins with the operators that do not pay on Int8; with none if `budget` is 0 and they cost little. Throws
  // NoIntegers if none is left on Int8.
  Releases(const Graph& graph, const std::vector<Role>& roles, const TimeModel* times, double budget);

  // The predicted time of the fastest network.
  double fastest() const { return fastest_; }
  const std::vector<Reason>& reasons() const { return reasons_; }
  // By operator: those that compute on Int8.
  std::vector<bool> integer() const { return integer_operators(graph_, roles_, released_); }

  // Releases operators until the bound holds, the most error for a microsecond first; then takes back what the bound
  // does not need; then spends the time that the budget leaves on a smaller error. `error`: of integer(). Returns the
  // error of the result. Throws NoIntegers if the bound cannot be held: the best that was reached, and what it costs.
  OutputError improve(const OutputError& error, const ReleaseOptions& options);

 private:
  struct Candidate {
    size_t op;
    double gain;  // the cost that its release removes
    bool fresh;   // measured in the present network
  };

  double time(const std::vector<bool>& released) const;
  double added_time(size_t op) const;
  double score(const Candidate& candidate) const;
  // The candidate with the highest score, its gain measured in the present network.
  size_t best_candidate();
  void measure_candidates();
  void release(size_t op, Reason reason);
  bool empty() const;
  bool holds(const OutputError& error) const { return options_.bound->holds(error); }
  bool hold_bound(double limit);
  void take_back();
  void spend(double limit);
  [[noreturn]] void fail_to_hold();

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const TimeModel* times_;
  ReleaseOptions options_;
  std::vector<bool> released_;
  std::vector<Reason> reasons_;
  std::vector<Candidate> candidates_;
  OutputError error_, best_;
  double fastest_ = 0, best_time_ = 0;
  size_t best_count_ = 0;
};

}  // namespace ferry::int8
