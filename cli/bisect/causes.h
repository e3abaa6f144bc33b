// What usually is wrong where a port departs from its framework: the table of known causes. Each is a change of a piece
// of a graph, to be tried: of a right one, which it makes wrong, or, where the family's own graph is at fault, of a
// wrong one, which it repairs.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry {
class Checkpoint;
}

namespace ferry::bisect {

// The operators between good values and a bad one, and what is known of where they come from.
struct Suspect {
  const Piece& piece;
  const Values& computed;             // what the piece computes
  const Checkpoint& checkpoint;       // the statistics of batch norms, which the graph holds folded, and what it lacks
  const std::set<std::string>& read;  // the names of all constants that operators of the graph read, here or elsewhere
  const std::set<std::string>& embeddings;  // of those of which rows are taken

  // Null where it is not known.
  const Array* value(TensorId tensor) const;
};

struct Cause {
  std::string text;  // what is wrong where this makes a right piece wrong: "the kernel is turned by 180 degrees"
  std::string
      repaired;     // what is wrong where this makes a wrong piece right: "the blob has a bias, the reference none"
  size_t from = 0;  // the first operator of the piece that it changes
  std::function<void(Piece&)> plant;
  std::optional<size_t> at = {};  // the operator that is at fault, where that is not the first one that changes
};

// `repaired` of a cause, by what the piece has and what planting makes of it.
inline std::string blob_has(const std::string& piece, const std::string& planted) {
  return "the blob has " + piece + ", the reference " + planted;
}

// A cause that puts one of several into the place of another: "the activation is SiLU in place of ReLU".
inline Cause exchanged(const std::string& what, const std::string& now, const std::string& other, size_t k,
                       std::function<void(Piece&)> plant) {
  return {what + " is " + other + " in place of " + now, what + ": " + blob_has(now, other), k, std::move(plant)};
}

// One number that may be wrong, and would be found: causes of which the best is wanted.
struct Fit {
  double low = 0, high = 0;  // both above 0
  std::function<Cause(double)> cause;
};

struct Causes {
  std::vector<Cause> known;
  std::vector<Fit> fits;
};

// Every known cause that the piece's operators allow.
Causes known_causes(const Suspect& suspect);

// The files, each those of operator `k`.
// causes_weights.cc: of the weights of a convolution or a linear.
void weight_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_norms.cc: of batch norms (a multiplication and an addition), layer, group and response norms.
void norm_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_parameters.cc: of an operator's own parameters and of its place among its neighbours.
void parameter_causes(const Piece& piece, size_t k, std::vector<Cause>& out);
// causes_missing.cc: of an activation that should stand beside the operator, or does and should not.
void missing_causes(const Piece& piece, size_t k, std::vector<Cause>& out);
// causes_attention.cc: of attention: its scale, what it sees, its sinks.
void attention_causes(const Suspect& suspect, size_t k, Causes& out);
// causes_experts.cc: of mixtures of experts: the shares that a router gives, an expert for all tokens.
void experts_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_unread.cc: of what the checkpoint has beside the piece's constants and the graph does not read, and of weights
// that are taken for one another.
void unread_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_rotary.cc: of the tables of angles that rotary embeddings turn by, all of the piece at once.
void rotary_causes(const Suspect& suspect, Causes& out);

// Keys of the checkpoint that no operator of the graph reads, of modules beside those whose constants the piece reads:
// its siblings, and what lies in them.
std::vector<std::string> unread_beside(const Suspect& suspect);
// A checkpoint's tensor.
Array values_in(const Checkpoint& checkpoint, const std::string& key);

// What the values themselves tell, where no known cause gives them: "every value is 0.5 times what it should be". Empty
// where nothing simple does.
std::string pattern_of(const Array& wrong, const Array& right);

}  // namespace ferry::bisect
