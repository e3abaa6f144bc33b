// Rewrites of a finished graph that keep its results and reduce the work at run time. Each pass is one file and can run
// alone.
//
// Visible values are never removed: outputs and taps of blocks always, every tap with keep_taps. Other taps of a
// release blob disappear if a pass fuses their value.
#pragma once

#include "converter/graph/graph.h"

namespace ferry {

struct PassOptions {
  bool keep_taps = false;
};

// Runs all passes, in an order in which each finds its patterns.
void run_passes(Graph& graph, const PassOptions& options);

// Moves transposes behind operators that work in any order of dimensions, until they cancel: a network written for
// N,C,H,W then computes channels last. Not part of run_passes(), because the reshapes that it moves have fixed sizes;
// for graphs whose builder inserts transposes (ONNX).
void sink_transposes(Graph& graph, const PassOptions& options);
// Replaces a slice of a dimension that a reshape made of the channels by a slice of the channels, followed by the
// reshape. It separates queries, keys and values of one linear layer, for split_linear(). For graphs of fixed sizes,
// like sink_transposes().
void slice_before_reshape(Graph& graph, const PassOptions& options);
// Both, as an imported graph needs them before run_passes().
void make_channels_last(Graph& graph, const PassOptions& options);
// Moves operators whose results are the same in every step of a loop before it.
void hoist_from_loops(Graph& graph, const PassOptions& options);
// Evaluates operators whose inputs are constants, by the reference interpreter; large values when they are read.
void fold_constants(Graph& graph, const PassOptions& options);
// The same for the operators from index `first` on, whose values are no outputs or taps: for builders, in work that
// does not grow with the graph.
void fold_added_constants(Graph& graph, size_t first);
// Merges convolutions (or linear layers) of one input whose outputs are added, including the input itself and its
// scaled copies, into one with the sum of the kernels, in double: branches of RepVGG, MobileOne and RepMixer, averaged
// heads. Only if the sum needs no more multiplications.
void merge_branches(Graph& graph, const PassOptions& options);
// Folds a per-channel multiplication, addition, subtraction or division by a constant into the weight and bias of the
// linear layer or unpadded convolution that follows, in double.
void fold_input_scale_shift(Graph& graph, const PassOptions& options);
// Folds a per-channel multiplication, addition, subtraction or division by a constant into the weight and bias of the
// conv2d or linear before it, in double: BatchNorm and LayerScale.
void fold_scale_shift(Graph& graph, const PassOptions& options);
// Moves a linear layer or 1x1 convolution over upscaled maps, one or several concatenated, before the upscaling; the
// upscaled products are added. Both operations are linear. Only if it reduces multiplications.
void multiply_before_upscaling(Graph& graph, const PassOptions& options);
// Merges two consecutive linear layers or 1x1 convolutions into one with the product of the weights, in double. Only if
// it reduces multiplications.
void merge_products(Graph& graph, const PassOptions& options);
// Fuses a clamp into the conv2d, linear or arithmetic that computes its input.
void fuse_activation(Graph& graph, const PassOptions& options);
// Merges 1x1 convolutions with few outputs that read the same map and are otherwise alike, and the depthwise
// convolutions after them: the heads of a detector. The map is read once; slices separate the results. Runs after
// fuse_activation, since siblings with different clamps are not merged.
void join_siblings(Graph& graph, const PassOptions& options);
// Splits a linear layer of which only ranges of the outputs are read (fused queries, keys and values) into one per
// range.
void split_linear(Graph& graph, const PassOptions& options);
// Splits a linear layer or convolution whose weight exceeds the binding limit of some GPUs into several with a part of
// the outputs each, concatenated. Not if another operator reads the weight.
void split_large_weight(Graph& graph, const PassOptions& options);
// Fuses padding into the convolution (zeros) or pool (average: counted zeros; maximum: -infinity) that reads it.
void fold_padding(Graph& graph, const PassOptions& options);
// PyTorch flattens channels first: permutes the columns of the linear layer after a flatten instead of its input.
void absorb_flatten(Graph& graph, const PassOptions& options);
// Fuses a transpose of the last two dimensions into the matrix product of two activations that reads it.
void absorb_transpose(Graph& graph, const PassOptions& options);
// PyTorch's pixel_shuffle has another channel order than the blob's: permutes the output channels of the convolution
// before it instead.
void absorb_pixel_shuffle(Graph& graph, const PassOptions& options);
// Replaces a convolution over a nearest-neighbour upsampled map (1x1: see multiply_before_upscaling) by a convolution
// of the small map for each position in a cell, followed by a pixel_shuffle: the same multiplications in fewer and
// wider rows, without the upsampled map.
void absorb_upsampling(Graph& graph, const PassOptions& options);
// Removes operators, tensors and constants that no visible value depends on, and taps without a value.
void remove_dead_code(Graph& graph, const PassOptions& options);

}  // namespace ferry
