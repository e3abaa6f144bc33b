// Trying the known causes on a piece.
#pragma once

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
};

// The cause that comes nearest, if it comes near enough; `departure`: the distance without any.
Tried try_causes(const Suspect& suspect, Trial trial, double departure, const Distance& distance);

}  // namespace ferry::bisect
