// Rotary position embedding (Su et al. 2021) as transformers configures it.
//
// Before transformers 5, config.json has {"rope_theta": 10000.0, "rope_scaling": null or {"rope_type": "llama3", ...}};
// since then {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "llama3", ...}}, with one such object per layer
// type if layers differ. One parser reads both.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

// Frequencies and layout of the rotation of one head.
struct Rope {
  std::vector<double> frequencies;    // inv_freq, in radians per position, one per rotated pair; float32 values
  std::vector<double> unscaled = {};  // the frequencies before rope_scaling
  double scale = 1;                   // factor of cos and sin (attention_scaling)
  bool interleaved = false;           // pairs are adjacent channels, instead of channels half a head apart
  // For positions with several axes (row and column; time, height and width): the axis that rotates each pair. Empty:
  // one axis.
  std::vector<int> axes = {};
  // LongRoPE's factors for all positions of texts longer than `short_length`.
  struct LongContext {
    std::vector<double> frequencies;
    int short_length;
  };
  std::optional<LongContext> long_context = {};
};

// How the rope settings of a family are named, and their defaults.
struct RopeDefaults {
  double theta = 10000.0;                     // default
  const char* theta_name = "rope_theta";      // before transformers 5
  const char* scaling_name = "rope_scaling";  // likewise; null: these layers had no scaling
  const char* layer_type = nullptr;           // key inside rope_parameters, if it has one object per layer type
  // Default of partial_rotary_factor, the share of a head's first channels that are rotated. None: the setting is not
  // supported.
  std::optional<double> partial = {};
};

// For heads of `head` channels. Throws Error for an unsupported rope type.
Rope rope_of(const Configuration& config, int head, const RopeDefaults& spelling = {});

// Checks the frequencies that older checkpoints store in a rotary embedding's module against `rope`. Throws Error if
// they differ: their configuration is another one.
void check_inv_freq(const Rope& rope, const Weights& w);

// Multimodal rope (Wang et al., arXiv:2409.12191) with Qwen3-VL's interleaving: the axis (time, height, width) of each
// of `pairs` pairs. Height and width repeat every third pair as often as mrope_section has them; the rest is time.
// `absent`: the default of mrope_section. Throws Error if the sections are contiguous instead.
std::vector<int> interleaved_axes(const Configuration& config, size_t pairs, const std::array<int, 3>& absent);

// DeepSeek's extra factor of the attention scores for rope types with mscale_all_dim; else 1.
double yarn_score_scale(const Configuration& config);

// cos and sin at the positions of a text: [L, rotated channels].
struct Rotation {
  Tensor cos, sin;
  bool interleaved;

  // Rotates the first channels of each head of x [1,L,heads*D], as many as cos has.
  Tensor operator()(Tensor x, int heads) const;
};
// `positions` is Int32 [L] or [axes,L], each below `count`. The graph stores a table of `count` rows: the
// maximum length of a text, or side of an image.
Rotation rotation(const Rope& rope, Tensor positions, int count);

}  // namespace ferry::language
