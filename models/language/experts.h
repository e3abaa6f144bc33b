// Mixtures of experts: a router sends each token through a few of many perceptrons (Shazeer et al., arXiv:1701.06538).
// What distinguishes one family from another is data.
#pragma once

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

// Which experts a token goes through, and with which shares. A product gives each expert a logit.
struct Router {
  const char* name = "gate";
  bool bias = false;
  // Scores are the softmax over all logits, or their sigmoids; or logits choose, and the softmax is over the chosen.
  enum class Scores { Softmax, Sigmoid, SoftmaxOfChosen } scores = Scores::Softmax;
  bool corrected = false;   // e_score_correction_bias is added to the scores that choose, not to the shares
  bool normalized = false;  // the shares' sum is 1
  double scale = 1;         // of the shares, at the end
  // Only experts of the best `chosen_groups` groups are chosen; a group is as good as its two best scores together.
  int groups = 1, chosen_groups = 1;
};

// A perceptron beside the experts, for all tokens.
struct SharedExpert {
  const char* name = nullptr;
  int hidden = 0;              // channels within; 0: there is none
  const char* gate = nullptr;  // a product whose sigmoid it is multiplied with
};

struct Experts {
  int count, chosen, hidden;  // `chosen` for a token; `hidden`: channels within each
  Router router = {};
  ExpertsOptions options = {};
  bool bias = false;
  // In a checkpoint gate and up lie side by side and weights are columns for each output (GPT-OSS).
  bool interleaved = false;
  SharedExpert shared = {};
};

// x [1,L,C] through the experts of module `w`, without the shared one. They are stored one by one
// (experts.0.gate_proj.weight...) or all in one (experts.gate_up_proj, with either of its last two dimensions first, or
// as MXFP4).
Tensor mixture(Tensor x, const Weights& w, const Experts& experts);

// Experts of a file: how many there are and how many a token goes through, under these names and with these defaults.
// Throws Error where a token would go through more than there are.
Experts experts_of(const Configuration& config, const char* count_name, int count, int chosen);
// The activation called `name`. Throws Error where experts know none of it.
fbs::ExpertsActivation experts_activation(const Configuration& config, const std::string& name);

}  // namespace ferry::language
