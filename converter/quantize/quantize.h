// Weight quantization of a finished graph: `ferry convert --weights i8` and `--weights i4`, and the integers of a
// quantised file.
#pragma once

#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// Int4 elements that share a scale: the minimum block of XNNPACK's kernels.
inline constexpr int kInt4Block = 32;

// Stores a float constant [n,...] as Int8 with one scale per index of its first dimension: absmax / 127 in float32,
// values rounded to nearest even. `constant`: of `graph` or of a graph in it; all constants that share its buffer
// become integers. If `block`, a divisor of the last dimension, is above 0, each block of a row has a BFloat16 scale
// instead.
void quantize_to_int8(Graph& graph, const fbs::TensorT& constant, int block);
void quantize_to_int8(Graph& graph, const fbs::TensorT& constant);

// Stores a float constant as Int4; its last dimension must be a multiple of kInt4Block. Each block has a BFloat16
// scale: of absmax / 6 to absmax / 9 in steps of 1/4, the one with the minimum squared error.
void quantize_to_int4(Graph& graph, const fbs::TensorT& constant);

enum class WeightBits { Eight, Four };

// Quantizes weights of linear layers, pointwise convolutions and experts in all graphs of the blob. Such weights may
// have no other readers than gathers of slices (tied embeddings). Not quantized are:
// - small weights, with fewer than 4096 elements or rows of fewer than 32: nothing to gain;
// - other convolutions.
//
// With four bits, two kinds of weights have eight bits instead: those whose rows are not a multiple of kInt4Block, and
// the last ones of a graph, whose error reaches the output directly. Experts' weights are stacked, so eight bits use
// blocks of kInt4Block as well, or whole rows if these are not a multiple. Throws Error if a weight is not finite.
void quantize_weights(Graph& graph, WeightBits bits);

// What keep_integers() did: numbers of weights with integers of 4 and of 8 bits, and names of weights left unchanged.
struct KeptWeights {
  size_t four = 0, eight = 0;
  std::vector<std::string> floats;
};

// Stores weights and embedding tables that are exactly integers times scales as such, in all graphs of the blob. Forms,
// the first that fits: Int4 in blocks of kInt4Block with Float16 or BFloat16 scales; Int8 with a Float32 scale per row,
// unless stacked; Int8 in such blocks.
KeptWeights keep_integers(Graph& graph);

}  // namespace ferry
