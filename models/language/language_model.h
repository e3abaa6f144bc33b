// A network that maps token ids to the logits of the next token.
//
// Families are functions from config.json to a Network, most of them by way of models/language/decoder.h, and a row of
// the table in models/families.cc each. Input, cache, tokenizer and preprocessing are shared.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "converter/graph/ops.h"
#include "converter/graph/weights.h"
#include "models/language/rope.h"
#include "models/language/vision_tower.h"

namespace ferry::language {

// The key/value cache of an attention layer: [1, length, width] each.
struct Cache {
  State keys, values;
};

// The state of a recurrent layer, of constant size: inputs of the last tokens [1, tokens, width], and the memory.
struct Recurrence {
  State inputs, memory;
};

// Inputs of a network with a vision tower, in addition to ids.
struct Images {
  Tensor positions;  // Int32 [3,L], each below max_length: time, height and width of a token's position
  Tensor rows;       // Int32 [1,L]: the row of `features` for each token; 0: a text token
  Tensor features;   // output of the vision tower; row 0 is zeros
};

// The graph that a network is built in, and its states.
struct Text {
  Graph& graph;
  int max_length;                     // of prompt and answer, in tokens
  std::optional<Images> images = {};  // for networks with a vision tower

  // Cache of layer `layer` with `width` channels. `window`: the layer's sliding window; 0: full attention.
  Cache cache(size_t layer, int width, int window) const;
  // The same for latent attention, whose keys and values share one cache.
  Cache latent(size_t layer, int width) const;
  Recurrence recurrence(size_t layer, const Shape& inputs, const Shape& memory) const;
};

struct Network {
  int vocabulary;
  // Above 0: LongRoPE uses the short factors in graphs for texts up to this length, the long factors in others. It is
  // also the default of --max-length.
  int short_length = 0;
  std::optional<VisionTower> tower = {};  // for images
  // Maps ids, Int32 [1, L], that follow those of earlier runs to logits [1, L, vocabulary].
  std::function<Tensor(Tensor ids, const Weights& weights, const Text& text)> logits;
};

}  // namespace ferry::language
