// Very small language models with a byte tokenizer.
#pragma once

#include <memory>

#include "converter/graph/graph.h"

namespace ferry::testing {

// input_ids [1,L] (L up to 16) -> logits [1,L,262], texts of up to 48 tokens: an embedding, two layers of causal
// attention with keys and values as states, rotary embeddings, a head. Ids 0 to 2 are the unknown piece, the beginning
// and the end of a text, 3 to 258 bytes, then "th", "he" and " ". The weights depend only on a seed.
std::unique_ptr<Graph> small_language_model();

// The same with images of up to 16 x 16 pixels: patches of 2 x 2 pixels, four of which become a token.
std::unique_ptr<Graph> small_vision_language_model();

inline constexpr int kSmallVocabulary = 262;
inline constexpr int kSmallMaxLength = 48;
inline constexpr int kSmallMaxRun = 16;

}  // namespace ferry::testing
