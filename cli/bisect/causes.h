// The table of known porting errors. A cause is a change of a piece of a graph. Planted in a right piece, it makes the
// piece wrong; if the family's own graph is at fault, planting the cause repairs it.
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

// The operators between good values and a bad one, with the context that causes need.
struct Suspect {
  const Piece& piece;
  const Values& computed;             // the values that the piece computes
  const Checkpoint& checkpoint;       // for batch norm statistics, which the graph holds folded, and for tensors the
                                      // graph lacks
  const std::set<std::string>& read;  // names of all constants that the graph reads
  const std::set<std::string>& embeddings;  // names of the tables that embeddings read

  // Null if unknown.
  const Array* value(TensorId tensor) const;
};

struct Cause {
  std::string text;      // the fault that planting makes: "the kernel is rotated by 180 degrees"
  std::string repaired;  // the fault that planting repairs: "the blob has a bias, the reference none"
  size_t from = 0;       // the first operator of the piece that it changes
  std::function<void(Piece&)> plant;
  std::optional<size_t> at = {};  // the faulty operator, if not `from`
};

// Cause::repaired from what the piece has and what planting makes of it.
inline std::string blob_has(const std::string& piece, const std::string& planted) {
  return "the blob has " + piece + ", the reference " + planted;
}

// A cause that replaces one alternative by another: "the activation is SiLU instead of ReLU".
inline Cause exchanged(const std::string& what, const std::string& now, const std::string& other, size_t k,
                       std::function<void(Piece&)> plant) {
  return {what + " is " + other + " instead of " + now, what + ": " + blob_has(now, other), k, std::move(plant)};
}

// A family of causes with one free parameter. The best value in [low, high] is searched.
struct Fit {
  double low = 0, high = 0;  // both positive
  std::function<Cause(double)> cause;
};

struct Causes {
  std::vector<Cause> known;
  std::vector<Fit> fits;
};

// All known causes that apply to the piece's operators.
Causes known_causes(const Suspect& suspect);

// Each of these adds the causes for operator `k`.
// causes_weights.cc: the weights of a convolution or linear operator.
void weight_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_norms.cc: batch norm (a multiplication and an addition), layer, group and local response norm.
void norm_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_parameters.cc: the operator's own parameters and its order among its neighbours.
void parameter_causes(const Piece& piece, size_t k, std::vector<Cause>& out);
// causes_missing.cc: a missing or superfluous activation next to the operator.
void missing_causes(const Piece& piece, size_t k, std::vector<Cause>& out);
// causes_attention.cc: attention's scale, mask, window and sinks.
void attention_causes(const Suspect& suspect, size_t k, Causes& out);
// causes_experts.cc: mixtures of experts: router weights, a shared expert.
void experts_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_unread.cc: checkpoint tensors that the graph does not read, and weights that are confused with one another.
void unread_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out);
// causes_rotary.cc: the tables of rotary embedding angles, for the whole piece at once.
void rotary_causes(const Suspect& suspect, Causes& out);

// Keys of the checkpoint that no operator of the graph reads, of modules that are siblings of those the piece reads, or
// lie in these siblings.
std::vector<std::string> unread_beside(const Suspect& suspect);
// The values of a checkpoint's tensor.
Array values_in(const Checkpoint& checkpoint, const std::string& key);

// Describes a regularity of wrong values that no known cause explains: "every value is 0.5 times what it should be".
// Empty if there is no simple one.
std::string pattern_of(const Array& wrong, const Array& right);

}  // namespace ferry::bisect
