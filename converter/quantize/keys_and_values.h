// The states that hold keys and values of attention, and the type that they are stored as.
#pragma once

#include <utility>

#include "ferry_generated.h"

namespace ferry {

// Marks the states of a blob that causal attention alone reads (State.block), and stores them as `dtype`: Float32,
// Float16 or Int8. States of another type, and those that an output or a tap shows, stay unchanged.
void store_keys_and_values_as(fbs::DType dtype, fbs::GraphT* root);

// Stores them as Float32, and lets taps and outputs show them: for tools that look into a blob.
inline void show_keys_and_values(fbs::GraphT* root) {
  for (auto& state : root->states)
    if (std::exchange(state->block, 0) > 0) state->dtype = fbs::DType::Float32;
}

}  // namespace ferry
