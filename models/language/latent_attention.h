// Multi-head latent attention (DeepSeek-AI, arXiv:2405.04434): what is kept of a token is one short vector, from which
// each head's keys and values could be expanded.
//
// They are not: a score q * (K c) is (q K) * c, so that queries meet the vectors themselves, as one head of keys and
// values that all heads of queries share, and what comes out is expanded once. Long prompts cost more so (of
// DeepSeek-V3's sizes 3.6 times the products of attention), but a token more costs no expansion of all before it.
#pragma once

#include "models/language/language_model.h"
#include "models/language/modules.h"

namespace ferry::language {

struct LatentAttention {
  int query_rank;            // of the vector that queries are expanded from; 0: there is none
  int rank;                  // of the one for keys and values
  int plain, turned, value;  // channels of a head: of its keys those that do not turn and those that do, of its values
  bool bias;
  double scale;  // of the scores
};

// x [1,L,C] of which attention gives as many channels; module `w`. `latent`: what is kept, rank + turned channels.
Tensor latent_attention(Tensor x, const Weights& w, const LatentAttention& a, int heads, const Rotation& rotate,
                        State latent);

}  // namespace ferry::language
