// Trying the known causes on a piece.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/bisect/causes.h"

namespace ferry::bisect {

// What planting a cause does: it makes a right piece wrong as what is to be explained is, or a wrong one right.
enum class Trial { MakesWrong, Repairs };

// Of what the piece computes, from what is to be explained.
using Distance = std::function<double(const Array&)>;

struct Tried {
  std::string text;          // what is wrong; empty: no cause explains it
  double left = 0;           // the distance with that cause
  std::optional<size_t> at;  // the operator that it is about
  size_t count = 0;          // causes that were tried
  bool limited = false;      // the budget did not allow all of them
};

// What one search may compute, in multiply-accumulates of the oracle: some minutes on a slow machine. Not a time, so
// that every machine tries the same causes and gives the same answer.
inline constexpr uint64_t kWorkBudget = 20'000'000'000;

// The cause that comes nearest, if it comes near enough; `departure`: the distance without any. Causes are tried in a
// fixed order until their work has reached `budget`.
Tried try_causes(const Suspect& suspect, Trial trial, double departure, const Distance& distance,
                 uint64_t budget = kWorkBudget);

}  // namespace ferry::bisect
