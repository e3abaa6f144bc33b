// A network that reads token ids and says which comes next.
//
// A family of these is one function from the sizes in its config.json to a Network, most of them by way of
// models/language/decoder.h, and a row of the table in models/families.cc. The rest is shared: the input, the cache,
// the tokenizer beside the checkpoint, the preprocessing of images.
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

// What a layer with attention keeps of the text so far: [1, length, width] each.
struct Cache {
  State keys, values;
};

// What a recurrent layer keeps of it, however long: the last tokens' inputs [1, tokens, width], and what all came to.
struct Recurrence {
  State inputs, memory;
};

// What a network that sees images is given beside ids.
struct Images {
  Tensor places;    // Int32 [3,L], each below the longest text: a token's in time, height and width
  Tensor rows;      // Int32 [1,L]: which row of `features` a token stands for; 0: none
  Tensor features;  // as VisionTower gives them: row 0 holds zeros
};

// What a network is built for.
struct Text {
  Graph& graph;
  int max_length;                     // in tokens, prompt and answer together
  std::optional<Images> images = {};  // of a network with a vision tower

  // Of layer `layer`, of that many channels; `window`: of how many tokens attention sees them, 0: of all.
  Cache cache(size_t layer, int width, int window) const;
  // The same where keys and values are one.
  Cache latent(size_t layer, int width) const;
  Recurrence recurrence(size_t layer, const Shape& inputs, const Shape& memory) const;
};

struct Network {
  int vocabulary;
  // Above 0: graphs for texts up to this length rotate as the model does in short texts, graphs for longer ones as it
  // does in long texts (longrope). Unless --max-length says otherwise, it is the longest.
  int short_length = 0;
  std::optional<VisionTower> tower = {};  // through which it sees images
  // From ids, Int32 [1, L], which follow those of earlier runs, to logits [1, L, vocabulary].
  std::function<Tensor(Tensor ids, const Weights& weights, const Text& text)> logits;
};

}  // namespace ferry::language
