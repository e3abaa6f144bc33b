// Tries the known causes on a piece.
#pragma once

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
};

// The best cause, if it is good enough. `departure`: the distance without any cause.
Tried try_causes(const Suspect& suspect, Trial trial, double departure, const Distance& distance);

}  // namespace ferry::bisect
