// Rewrites of a finished graph: the same results, less to do at run time. Each pass is one file and may run alone.
//
// What may be seen from outside is never taken away: outputs always, taps of blocks always, every tap with keep_taps.
// An inner tap of a release blob goes with the value it names, if a pass fuses that value away.
#pragma once

#include "converter/graph/graph.h"

namespace ferry {

struct PassOptions {
  bool keep_taps = false;
};

// All passes, in the order that lets each find what it needs.
void run_passes(Graph& graph, const PassOptions& options);

// Transposes move behind the operators that work in any order of dimensions, until they cancel: a network written for
// N,C,H,W computes channels last. Not among run_passes(), because reshapes that it moves hold fixed sizes; for graphs
// whose builder inserts transposes (ONNX).
void sink_transposes(Graph& graph, const PassOptions& options);
// A slice of a dimension that a reshape made of the channels cuts the channels, and the reshape follows: queries, keys
// and values from one linear layer, which are then split_linear's. As sink_transposes, for graphs whose sizes are
// fixed.
void slice_before_reshape(Graph& graph, const PassOptions& options);
// Operators on constants only are computed by the oracle.
void fold_constants(Graph& graph, const PassOptions& options);
// Convolutions (or linear layers) of one input that are added up, the input itself and its scaled copies among them,
// become one whose kernel is the sum, in double: RepVGG's, MobileOne's and RepMixer's branches, and heads that are
// averaged. Only where the sum multiplies no more than its parts did.
void merge_branches(Graph& graph, const PassOptions& options);
// A multiplication, addition, subtraction or division by a constant for each channel, then a linear layer or a
// convolution without padding: into its weight and bias, in double.
void fold_input_scale_shift(Graph& graph, const PassOptions& options);
// conv2d or linear, then a multiplication, addition, subtraction or division by a constant for each channel: into the
// weight and bias, in double. BatchNorm and LayerScale vanish here.
void fold_scale_shift(Graph& graph, const PassOptions& options);
// A linear or a 1x1 convolution over upscaled maps, one or several side by side, works on the small maps instead, and
// what it makes of each is upscaled and added up: both are linear in every number. Only where that multiplies less.
void multiply_before_upscaling(Graph& graph, const PassOptions& options);
// Two linears or 1x1 convolutions, one after the other, become one whose weight is the product, in double. Only where
// that multiplies less.
void merge_products(Graph& graph, const PassOptions& options);
// A clamp into the conv2d, linear or arithmetic that computes its input.
void fuse_activation(Graph& graph, const PassOptions& options);
// 1x1 convolutions of few outputs that read one map, alike in all else, become one, and so do the depthwise ones after
// them: the heads of a detector. The map is read once, and what each computed is cut out. After fuse_activation, as
// those with other clamps stay apart.
void join_siblings(Graph& graph, const PassOptions& options);
// A linear of which only parts of the channels are read (queries, keys and values from one weight) becomes a linear for
// each.
void split_linear(Graph& graph, const PassOptions& options);
// A linear or convolution whose weight is too large for some GPUs to bind becomes several, of some of its outputs each,
// that are put side by side. Not where another operator reads the weight, too.
void split_large_weight(Graph& graph, const PassOptions& options);
// Padding into the convolution (zeros) or pool (zeros that count: average; -infinity: maximum) that reads it.
void fold_padding(Graph& graph, const PassOptions& options);
// PyTorch flattens channels first: a linear after such a flatten gets its columns reordered instead of its input.
void absorb_flatten(Graph& graph, const PassOptions& options);
// A transpose of the last two dimensions into the product of two activations that reads it.
void absorb_transpose(Graph& graph, const PassOptions& options);
// PyTorch's pixel_shuffle counts channels otherwise than the blob does: the convolution before it gets its output
// channels reordered instead of its output.
void absorb_pixel_shuffle(Graph& graph, const PassOptions& options);
// A convolution over a map upscaled by repetition (one of 1x1 is multiply_before_upscaling's) works on the small map
// instead, once for every place in a cell, and a pixel_shuffle follows: as many multiplications, far fewer and wider
// rows, and no upscaled map in memory.
void absorb_upsampling(Graph& graph, const PassOptions& options);
// Drops operators, tensors and constants that nothing seen from outside depends on, and taps without a value.
void remove_dead_code(Graph& graph, const PassOptions& options);

}  // namespace ferry
