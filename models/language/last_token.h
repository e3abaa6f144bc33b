// The graph that goes on with a text: what follows the last token alone. Of a prompt's logits the others are for
// parity.
#pragma once

#include "converter/graph/graph.h"

namespace ferry::language {

inline constexpr const char* kLastToken = "last";

// `graph` gives logits [1, L, vocabulary] by a product and what is elementwise; the same up to the product, which is of
// the last place: [1, 1, vocabulary]. Without taps.
void keep_last_token(Graph* graph);

}  // namespace ferry::language
