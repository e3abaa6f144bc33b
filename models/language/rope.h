// Rotary position embedding (Su et al. 2021) as transformers configures it.
//
// Before transformers 5 a config.json says {"rope_theta": 10000.0, "rope_scaling": null or {"rope_type": "llama3",
// ...}}, since then {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "llama3", ...}}. One parser reads both.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "converter/graph/ops.h"

namespace ferry::language {

// How the angles of one head turn from one place in the text to the next.
struct Rope {
  std::vector<double> frequencies;  // in radians a place, one for each pair of channels
};

// Of heads of `head` channels. Throws Error for a kind of rope that is not known here.
Rope rope_of(const nlohmann::json& config, int head);

// cos and sin of the places of a text: [L, head].
struct Rotation {
  Tensor cos, sin;

  Tensor operator()(Tensor x, int heads) const { return rotary_embedding(x, cos, sin, heads, false); }
};
// `places` Int32 [L], each below `count`, of which the graph holds a table.
Rotation rotation(const Rope& rope, Tensor places, int count);

}  // namespace ferry::language
