// `ferry convert --weights i4 --calibrate TEXT`: weights of a language model in 4 bits, rounded by GPTQ (rounding.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/text/text_samples.h"

namespace ferry {

// How well a network predicts the held-out sequences.
struct Prediction {
  double perplexity = 0;  // e to the mean of -log(probability) of each token after those before it
  double error = 0;       // of the logits: norm of the difference from float, relative to the norm in float
};

struct TextCalibration {
  size_t tokens = 0, held_out = 0;       // that calibrated; that were predicted
  size_t weights = 0, kept_nearest = 0;  // of 4 bits: calibrated; rounded to nearest nevertheless
  Prediction in_float, nearest, calibrated;
};

// "FILE: 4088 other tokens: perplexity 12.1 in float, 13.4 rounded to nearest, 12.6 calibrated; ..."
std::vector<std::string> sentences_of(const TextCalibration& done, const std::string& file);

// Whether the graph computes logits [1,L,V] from token ids [1,L] alone.
bool predicts_tokens(const Graph& graph);

// Does what quantize_weights(graph, WeightBits::Four) does, and rounds each linear layer's 4-bit weights by the inputs
// that the calibration sequences give it after the layers before it were quantised. Scales are those of
// quantize_weights(). Rounded to nearest are weights of experts and those with more than 16,384 inputs.
//
// The result does not depend on `threads` (as in SessionOptions). Memory, beside the graph's own: half a byte per
// weight; the operators between two layers; for a layer of K inputs 12 K^2 bytes; 4 bytes per token and element of the
// activations that later operators read; the logits of one sequence, three times. `progress`: called with the done
// fraction. Throws Error if the graph cannot run, or if a token is beyond the vocabulary. Requires predicts_tokens().
TextCalibration quantize_by_text(Graph& graph, const TextSamples& samples, int threads,
                                 const std::function<void(double)>& progress);

}  // namespace ferry
