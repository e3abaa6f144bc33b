// Mutations of what a blob says of text (sdk/schema/text.fbs) that know its tables: programs of patterns, steps,
// merges, pieces, added tokens, the decoder.
#pragma once

#include <vector>

#include "tests/fuzz/table_mutator.h"
#include "text_generated.h"

namespace ferry::fuzz {

// A few random changes. What is no such text stays as it is, and the answer is false.
bool mutate_text(std::vector<uint8_t>* text, Random& random);

}  // namespace ferry::fuzz
