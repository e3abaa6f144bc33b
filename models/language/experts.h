// Mixture of experts (Shazeer et al., arXiv:1701.06538): a router sends each token through `top_k` of `count` MLPs.
// Families differ in data.
#pragma once

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

// Selects a token's experts and their weights. A linear layer outputs one logit per expert.
struct Router {
  const char* name = "gate";
  bool bias = false;
  // Scores are the softmax or the sigmoid of all logits; or the logits select, and the softmax is over the selected
  // ones.
  enum class Scores { Softmax, Sigmoid, SoftmaxOfTopK } scores = Scores::Softmax;
  bool score_correction = false;  // e_score_correction_bias is added for the selection, not to the weights
  bool normalized = false;        // the weights are divided by their sum
  double scale = 1;               // routed_scaling_factor of the weights
  // Only experts of the best `top_k_groups` groups are selected; a group's score is the sum of its two best.
  int groups = 1, top_k_groups = 1;
};

// An MLP that all tokens pass, in addition to the experts.
struct SharedExpert {
  const char* name = nullptr;
  int hidden = 0;              // channels of its hidden layer; 0: no shared expert
  const char* gate = nullptr;  // a linear layer whose sigmoid multiplies its output
};

struct Experts {
  int count, top_k, hidden;  // `top_k`: experts per token; `hidden`: channels of an expert's hidden layer
  Router router = {};
  ExpertsOptions options = {};
  bool bias = false;
  // A stack of all experts interleaves gate and up and has one column per output (GPT-OSS).
  bool interleaved = false;
  SharedExpert shared = {};
};

// x [1,L,C] through the experts of module `w`, without the shared one. Checkpoints store them separately
// (experts.0.gate_proj.weight...) or stacked (experts.gate_up_proj, with its last two dimensions in either order, or as
// MXFP4).
Tensor mixture(Tensor x, const Weights& w, const Experts& experts);

// Reads the number of experts and experts per token, with these setting names and defaults. Throws Error if a token
// selects more experts than there are.
Experts experts_of(const Configuration& config, const char* count_name, int count, int top_k);
// The activation `name`. Throws Error if the Experts operator does not support it.
fbs::ExpertsActivation experts_activation(const Configuration& config, const std::string& name);

}  // namespace ferry::language
