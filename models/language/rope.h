// Rotary position embedding (Su et al. 2021) as transformers configures it.
//
// Before transformers 5 a config.json says {"rope_theta": 10000.0, "rope_scaling": null or {"rope_type": "llama3",
// ...}}, since then {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "llama3", ...}}, where layers of several
// types each have such an object under their type's name. One parser reads all.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

// How the angles of one head turn from one place in the text to the next.
struct Rope {
  std::vector<double> frequencies;  // in radians a place, one for each pair of channels that turn
  double scale = 1;                 // of cos and sin
  bool interleaved = false;         // neighbours are a pair, not channels that are half a head apart
  // Where a place is several numbers (row and column in an image; time, height and width): by which of them each pair
  // turns. Empty: a place is one number.
  std::vector<int> axes = {};
  // Of texts longer than `short_length`, at every place (longrope).
  struct Long {
    std::vector<double> frequencies;
    int short_length;
  };
  std::optional<Long> in_long_texts = {};
};

// What families' configurations differ in.
struct RopeSpelling {
  double theta = 10000.0;                     // where the file has none
  const char* theta_name = "rope_theta";      // before transformers 5
  const char* scaling_name = "rope_scaling";  // likewise; null: there was none for these layers
  const char* layer_type = nullptr;           // the object's name inside rope_parameters, if it holds several
  // partial_rotary_factor may say that only this part of a head, its first channels, turns; absent, it is this.
  std::optional<double> partial = {};
};

// Of heads of `head` channels. Throws Error for a kind of rope that is not known here.
Rope rope_of(const Configuration& config, int head, const RopeSpelling& spelling = {});

// Of a model that sees images: by which of time, height and width each of `pairs` pairs turns (multimodal rope, Wang
// et al., arXiv:2409.12191), in turns of three as Qwen3-VL has it: height and width as often as mrope_section says,
// time everywhere else. `absent`: where the file has none. Throws Error for sections that lie side by side.
std::vector<int> interleaved_axes(const Configuration& config, size_t pairs, const std::array<int, 3>& absent);

// What DeepSeek multiplies attention's scores with where rope is of a kind with mscale_all_dim; else 1.
double yarn_score_scale(const Configuration& config);

// cos and sin of the places of a text: [L, channels that turn].
struct Rotation {
  Tensor cos, sin;
  bool interleaved;

  // x [1,L,heads*D]. Of each head the first channels turn, as many as cos has.
  Tensor operator()(Tensor x, int heads) const;
};
// `places` Int32 [L], or of several axes [axes,L], each below `count`, the length of the longest text (the longest side
// of an image), for which the graph holds a table.
Rotation rotation(const Rope& rope, Tensor places, int count);

}  // namespace ferry::language
