// Weights as integers: what `ferry convert --weights i8` and `--weights i4` do to a finished graph.
#pragma once

#include "converter/graph/graph.h"

namespace ferry {

// Elements of a block of Int4 that share a scale: what XNNPACK's kernels read at least.
inline constexpr int kInt4Block = 32;

// Stores a float constant [n,...] as Int8, one scale for each index of its first dimension: absmax / 127 in float32,
// each number rounded to the nearest multiple, halves to the even one. `constant`: of `graph` or of a graph in it; all
// that share its buffer become integers with it. With `block` above 0, which divides the last dimension, each so many
// numbers of a row have a scale instead, a BFloat16.
void quantize_to_int8(Graph& graph, const fbs::TensorT& constant, int block);
void quantize_to_int8(Graph& graph, const fbs::TensorT& constant);

// Stores a float constant whose last dimension is a multiple of kInt4Block as Int4, one scale a block: of absmax / 6 to
// absmax / 9 in steps of a quarter, as BFloat16, the one that gives the smallest squared error.
void quantize_to_int4(Graph& graph, const fbs::TensorT& constant);

enum class WeightBits { Eight, Four };

// Quantises the weights of linears, of pointwise convolutions and of experts that nothing else reads, in all graphs of
// the blob; a gather may look up slices of them (tied embeddings). These stay as they are:
// - small ones, of less than 4096 numbers or of rows of less than 32: there is nothing to gain;
// - other convolutions.
// With four bits, these get eight: weights whose rows are no multiple of kInt4Block, and the last ones of a graph,
// whose result no other weight is multiplied with: their error goes straight into the answer. Experts' weights are
// stacked, so that eight bits come in blocks of kInt4Block as well; where rows are no multiple of it, a row is a block.
// Throws Error where a weight is not finite.
void quantize_weights(Graph& graph, WeightBits bits);

}  // namespace ferry
