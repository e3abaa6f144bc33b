// What usually is wrong where a port departs from its framework: the table of known causes. Each is a change of a right
// piece of a graph, to be tried.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry {
class Checkpoint;
}

namespace ferry::bisect {

struct Cause {
  std::string text;  // "the kernel is turned by 180 degrees"
  size_t from = 0;   // the first operator of the piece that it changes
  std::function<void(Piece&)> plant;
};

// Every known cause that the piece's operators allow. The checkpoint tells the statistics of batch norms, which the
// graph holds folded.
std::vector<Cause> known_causes(const Piece& piece, const Checkpoint& checkpoint);

// causes_weights.cc: those of the weights of operator `k`, a convolution or a linear.
void weight_causes(const Piece& piece, size_t k, std::vector<Cause>& out);
// causes_norms.cc: those of batch norms (a multiplication and an addition), layer, group and response norms.
void norm_causes(const Piece& piece, size_t k, const Checkpoint& checkpoint, std::vector<Cause>& out);
// causes_parameters.cc: those of an operator's own parameters and of its place among its neighbours.
void parameter_causes(const Piece& piece, size_t k, std::vector<Cause>& out);

// What the values themselves tell, where no known cause gives them: "every value is 0.5 times what it should be". Empty
// where nothing simple does.
std::string pattern_of(const Array& wrong, const Array& right);

}  // namespace ferry::bisect
