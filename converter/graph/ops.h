// Operators for family code: functions on tensors, named and parameterised as in PyTorch. Activations are N,H,W,C;
// dimension arguments count in that order.
//
//     Tensor y = batch_norm(conv2d(x, w["conv1"], {.out = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false}),
//                           w["bn1"]);
//     y = tap(relu(y), w["act1"]);
//
// Functions with a Weights parameter are modules: they read the module's weights and tap their output under its name.
#pragma once

#include <vector>

#include "converter/graph/graph.h"
#include "converter/graph/weights.h"

namespace ferry {

inline constexpr bool kBlock = true;

// Taps x under the names of module `w` and returns it. `block`: the output of a block, which fusion keeps.
Tensor tap(Tensor x, const Weights& w, bool block = false);

// The size of x's last dimension.
int channels(Tensor x);

// ---- modules with weights

struct Conv2dOptions {
  int out = 0;     // channels; 0: taken from the weight
  int kernel = 0;  // height and width; 0: taken from the weight
  int stride = 1;
  int padding = 0;
  int padding_w = -1;  // left and right; negative: equals `padding`
  int dilation = 1;
  int groups = 1;
  bool bias = true;
  bool adapt_input = false;  // the first convolution: fits its weight to x's channels by adapt_input_channels()
  double standardize = 0;    // epsilon of standardize_weight(); 0: no standardization
};
Tensor conv2d(Tensor x, const Weights& w, const Conv2dOptions& options = {});

struct ConvTranspose2dOptions {
  int out = 0;     // channels; 0: taken from the weight
  int kernel = 0;  // height and width; 0: taken from the weight
  int stride = 1;
  int padding = 0;
  int output_padding = 0;  // less than the stride
  int dilation = 1;
  int groups = 1;
  bool bias = true;
};
Tensor conv_transpose2d(Tensor x, const Weights& w, const ConvTranspose2dOptions& options = {});

struct DeformConv2dOptions {
  int out = 0;     // channels; 0: taken from the weight
  int kernel = 0;  // height and width; 0: taken from the weight
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  int groups = 1;
  bool bias = true;
};
// torchvision.ops.deform_conv2d. `offsets` has (row, column) for each kernel cell and offset group; its channels
// determine the number of groups. `mask` has a factor for each; Tensor() if there is none.
Tensor deform_conv2d(Tensor x, Tensor offsets, Tensor mask, const Weights& w, const DeformConv2dOptions& options = {});

struct LinearOptions {
  int out = 0;  // features; 0: taken from the weight
  bool bias = true;
};
// Over the last dimension.
Tensor linear(Tensor x, const Weights& w, const LinearOptions& options = {});

// BatchNorm in inference: x * scale + shift, with scale = gamma / sqrt(var + eps) and shift = beta - mean * scale, in
// double. The passes fold it into a convolution.
Tensor batch_norm(Tensor x, const Weights& w, double eps = 1e-5);

// BatchNorm and activation as one module (timm's BatchNormAct2d): taps "bn1.act" and "bn1" are both after `act`.
Tensor batch_norm_act(Tensor x, const Weights& w, Tensor (*act)(Tensor), double eps = 1e-5);

// Over channels.
Tensor layer_norm(Tensor x, const Weights& w, double eps = 1e-5);
// Over all positions and the channels of a group.
Tensor group_norm(Tensor x, const Weights& w, int groups = 32, double eps = 1e-5);
// GroupNorm and activation as one module (timm's GroupNormAct): taps "norm1.act" and "norm1" are both after `act`.
Tensor group_norm_act(Tensor x, const Weights& w, Tensor (*act)(Tensor), int groups = 32, double eps = 1e-5);
// Global response normalization (ConvNeXt V2) over height and width.
Tensor grn(Tensor x, const Weights& w, double eps = 1e-6);

// A learned slope per channel, or one for all.
Tensor prelu(Tensor x, const Weights& w);

// ---- functions

Tensor relu(Tensor x);
Tensor relu6(Tensor x);
Tensor clamp(Tensor x, float low, float high);
Tensor leaky_relu(Tensor x, float slope = 0.01f);
Tensor sigmoid(Tensor x);
Tensor tanh(Tensor x);
Tensor hard_swish(Tensor x);
Tensor silu(Tensor x);
Tensor gelu(Tensor x);       // the erf form
Tensor gelu_tanh(Tensor x);  // approximate="tanh"
Tensor hard_sigmoid(Tensor x);
Tensor softplus(Tensor x);  // ln(1 + e^x)
Tensor softmax(Tensor x);   // over the last dimension

// Matrix product [...,M,K] x [...,K,N]; leading dimensions broadcast. transpose_a: a is [...,K,M]; transpose_b: b is
// [...,N,K].
Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false);

struct Pool2dOptions {
  int kernel = 2;
  int stride = 2;
  int padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // average only
};
Tensor max_pool2d(Tensor x, const Pool2dOptions& options);
Tensor avg_pool2d(Tensor x, const Pool2dOptions& options);
// Mean over height and width: N,1,1,C.
Tensor global_avg_pool(Tensor x);
// N,F in PyTorch's order (channels first). The passes move the permutation into the following linear layer.
Tensor flatten(Tensor x);

Tensor concat(const std::vector<Tensor>& parts, int axis = -1);
// PyTorch's channel order: C*r*r channels, the position in the cell varies fastest.
Tensor pixel_shuffle(Tensor x, int factor);
// TensorFlow's depth_to_space: C*r*r channels, C varies fastest.
Tensor depth_to_space(Tensor x, int factor);
Tensor resize(Tensor x, fbs::ResizeKind kind, int scale, bool align_corners = false);
Tensor resize_to(Tensor x, fbs::ResizeKind kind, int height, int width, bool align_corners = false);
// To the height and width of the map `like` at run time.
Tensor resize_like(Tensor x, Tensor like, fbs::ResizeKind kind, bool align_corners = false);
// Pads height and width with `value`.
Tensor pad2d(Tensor x, int top, int left, int bottom, int right, float value = 0);
Tensor reshape(Tensor x, const std::vector<int32_t>& shape);
Tensor transpose(Tensor x, const std::vector<int32_t>& perm);
// A dimension in `shape` may be as_large_as(d): the size of dimension d of `like` at run time.
Tensor reshape_like(Tensor x, Tensor like, const std::vector<int32_t>& shape);
constexpr int32_t as_large_as(int32_t dimension) { return -2 - dimension; }
// Elements [begin, begin + size) along `axis`; size -1: to the end.
Tensor slice(Tensor x, int axis, int begin, int size);

// ---- tokens: N,L,C

struct AttentionOptions {
  int heads = 1;
  int kv_heads = 0;  // 0: equals heads
  double scale = 0;  // 0: 1 / sqrt(head size)
  // Query i of L attends to keys up to S - L + i; with a window above 0, to the last `window` of them.
  bool causal = false;
  int window = 0;
  double softcap = 0;  // above 0: softcap * tanh(scale * q k^T / softcap) replaces scale * q k^T
  Tensor sinks = {};   // [heads]: attention sinks, the score of an additional key per head whose value is 0
};
// softmax(scale * q k^T + biases) v for each head. Biases are b,h,l,S: sample n reads n % b, h is 1 or heads, l is 1 or
// L.
Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options, const std::vector<Tensor>& biases = {});
// Appends x to `state` along the state's axis and returns the whole content. x has the state's shape except along the
// axis. Once per state in a graph.
Tensor append(Tensor x, State state);
// Int32 [L], the positions in the state at which append() stores x; L is the length of x along `axis`.
Tensor positions(Tensor x, State state, int axis = 1);
struct CausalConv1dOptions {
  int kernel = 0;  // in tokens, the current one included
  bool bias = true;
};
// A causal depthwise convolution over time. The state holds the inputs before x: [N,kernel-1,C], of fixed size.
Tensor causal_conv1d(Tensor x, const Weights& w, State state, const CausalConv1dOptions& options);
// The gated delta rule, see GatedDeltaRule in the schema. q and k are N,L,key_heads*D; v N,L,heads*E; g (logarithm of
// the decay) and beta N,L,heads; the state, of fixed size, [N,heads,D,E].
Tensor gated_delta_rule(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, State state);
// x * cos + rotated(x) * sin. cos and sin are constants L,D for heads of D channels, see RotaryEmbedding in the schema.
Tensor rotary_embedding(Tensor x, Tensor cos, Tensor sin, int heads, bool interleaved);
struct ExpertsOptions {
  fbs::ExpertsActivation activation = fbs::ExpertsActivation::Silu;
  double alpha = 1.702, limit = 7;  // of ClampedSwish
};
// For each row of x [...,C]: the sum over its experts `chosen` [...,k] of the weight `shares` [...,k] times down
// (activation(gate) * up). gate_up and down are constants [E,2*H,C] (gates first) and [E,C,H]; biases are both [E,2*H]
// and [E,C], or empty.
Tensor experts(Tensor x, Tensor chosen, Tensor shares, Tensor gate_up, Tensor down, const ExpertsOptions& options,
               const std::vector<Tensor>& biases = {});
// Concatenates tokens (a constant 1,P,C) and those of each sample of x.
Tensor prepend_tokens(Tensor x, Tensor tokens);
// Cyclically shifts N,H,W,C up by shift_h and left by shift_w, and partitions it into windows: N * windows, window *
// window, C.
Tensor window_partition(Tensor x, int window, int shift_h = 0, int shift_w = 0);
// The inverse, to N,height,width,C.
Tensor window_reverse(Tensor x, int window, int shift_h, int shift_w, int height, int width);

// Elementwise, broadcast as in NumPy.
Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator*(Tensor a, double b);
Tensor operator+(Tensor a, double b);

// Fits a convolution weight O,KH,KW,I to `in_chans` channels like timm's adapt_input_conv: for 1 channel, the sum over
// the input channels (in groups of 3 if there are more than 3); else the weight repeated, truncated and scaled by 3 /
// in_chans. Throws Error if the rule does not apply.
Tensor adapt_input_channels(Tensor weight, int in_chans);

// Weight standardization (Qiao et al., arXiv:1903.10520) of a convolution weight: per output channel, (w - mean) /
// sqrt(variance + eps) with the population variance, in double.
Tensor standardize_weight(Tensor weight, double eps);

}  // namespace ferry
