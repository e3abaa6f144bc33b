// Structure-aware mutations of a blob's text tables (sdk/schema/text.fbs): programs of patterns, steps, merges, pieces,
// added tokens, the decoder.
#pragma once

#include <vector>

#include "tests/fuzz/table_mutator.h"
#include "text_generated.h"

namespace ferry::fuzz {

// A few random changes. Returns false, without a change, if the data is not such a table.
bool mutate_text(std::vector<uint8_t>* text, Random& random);

}  // namespace ferry::fuzz
