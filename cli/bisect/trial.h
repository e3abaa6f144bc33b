// Tries the known causes on a piece.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/bisect/causes.h"

namespace ferry::bisect {

// What planting a cause does: it makes a right piece as wrong as the observed values, or repairs a wrong one.
enum class Trial { MakesWrong, Repairs };

// The distance of the piece's result from the values to be explained.
using Distance = std::function<double(const Array&)>;

struct Tried {
  std::string text;          // describes the fault; empty if no cause explains it
  double left = 0;           // the distance with that cause
  std::optional<size_t> at;  // the faulty operator
  size_t count = 0;          // causes that were tried
  bool limited = false;      // the budget did not allow all of them
};

// The work of one search, in multiply-accumulates of the oracle: some minutes on a slow machine. It is not a time, so
// every machine tries the same causes and gives the same answer.
inline constexpr uint64_t kWorkBudget = 20'000'000'000;

// The best cause, if it is good enough. `departure`: the distance without any cause. Causes are tried in a fixed order
// until their work has reached `budget`.
Tried try_causes(const Suspect& suspect, Trial trial, double departure, const Distance& distance,
                 uint64_t budget = kWorkBudget);

}  // namespace ferry::bisect
