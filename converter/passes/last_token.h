// The graph for generation: it computes the logits of the last token alone. The other logits serve parity checks.
#pragma once

#include "converter/graph/graph.h"

namespace ferry {

inline constexpr const char* kLastToken = "last";

// `graph` must compute logits [1, L, vocabulary] by a linear layer, or several for a part of the vocabulary each, and
// elementwise functions. Changes it to compute those of the last position alone, [1, 1, vocabulary], and removes its
// taps.
void keep_last_token(Graph* graph);

}  // namespace ferry
