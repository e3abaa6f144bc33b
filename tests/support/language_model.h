// A language model small enough for any test, with a tokenizer of bytes.
#pragma once

#include <memory>

#include "converter/graph/graph.h"

namespace ferry::testing {

// input_ids [1,L] (up to 16 at once) -> logits [1,L,262], texts of up to 48 tokens: an embedding, two layers of causal
// attention whose keys and values are states, places turned into rotations, a head. Ids 0 to 2 are the unknown piece,
// the beginning and the end of a text, 3 to 258 bytes, then "th", "he" and " ". Its weights follow from a seed alone.
std::unique_ptr<Graph> small_language_model();

inline constexpr int kSmallVocabulary = 262;
inline constexpr int kSmallMaxLength = 48;
inline constexpr int kSmallMaxRun = 16;

}  // namespace ferry::testing
