// The operators, a line each. Whatever must know every one of them is made from this list, so that an operator which
// something lacks does not compile or link: names, shape rules, both backends' lowerings, the GPU's canaries, the
// oracle, memory in place, chains, multiplications. docs/architecture.md, "How to add an operator", walks through them.
#pragma once

#include <cstdint>

#include "ferry_generated.h"

// X(table of the schema, plain name, what differs from OperatorTraits' defaults). Files and functions bear the plain
// name: sdk/cpu/ops/conv2d.cc has create_conv2d().
// clang-format off

// Both backends compute these.
#define FERRY_OPERATORS_ON_GPU(X)                                                                         \
  X(Conv2d,            conv2d,              .constants = Constants::Weight)                               \
  X(Linear,            linear,              .constants = Constants::Weight)                               \
  X(Pool2d,            pool2d,              )                                                             \
  X(Unary,             unary,               .in_place = InPlace::First, .elementwise = true)              \
  X(Binary,            binary,              .in_place = InPlace::Any, .elementwise = true)                \
  X(Reduce,            reduce,              )                                                             \
  X(Concat,            concat,              )                                                             \
  X(PixelShuffle,      pixel_shuffle,       )                                                             \
  X(Resize2d,          resize2d,            .sized_by_input = true)                                       \
  X(Pad,               pad,                 )                                                             \
  X(Reshape,           reshape,             .in_place = InPlace::First, .sized_by_input = true)           \
  X(Transpose,         transpose,           )                                                             \
  X(Slice,             slice,               .sized_by_input = true)                                       \
  X(Softmax,           softmax,             )                                                             \
  X(ConvTranspose2d,   conv_transpose2d,    .constants = Constants::Weight)                               \
  X(LayerNorm,         layer_norm,          .constants = Constants::AfterFirst, .in_place = InPlace::First)\
  X(GroupNorm,         group_norm,          .constants = Constants::AfterFirst, .in_place = InPlace::First)\
  X(Grn,               grn,                 .constants = Constants::AfterFirst, .in_place = InPlace::First)\
  X(Attention,         attention,           )                                                             \
  X(RotaryEmbedding,   rotary_embedding,    .in_place = InPlace::First)                                   \
  X(WindowPartition,   window_partition,    )                                                             \
  X(WindowReverse,     window_reverse,      .sized_by_input = true)                                       \
  X(MatMul,            matmul,              )                                                             \
  X(DeformConv2d,      deform_conv2d,       .constants = Constants::Weight)                               \
  X(Experts,           experts,             .constants = Constants::AfterThird)                           \
  X(TopK,              top_k,               .outputs = 2)                                                 \
  X(Gather,            gather,              )                                                             \
  X(Scatter,           scatter,             .in_place = InPlace::First)

// The GPU leaves these to the CPU.
#define FERRY_OPERATORS_ON_CPU(X)                                                                         \
  X(Cast,              cast,                .in_place = InPlace::First, .elementwise = true)              \
  X(Select,            select,              .in_place = InPlace::Any, .elementwise = true)                \
  X(NonMaxSuppression, non_max_suppression, )

// These read or change a state, on which their shapes may depend; the last one is the CPU's.
#define FERRY_OPERATORS_WITH_STATE_ON_GPU(X)                                                              \
  X(Append,            append,              .changes_state = true)                                        \
  X(CausalConv1d,      causal_conv1d,       .changes_state = true)                                        \
  X(GatedDeltaRule,    gated_delta_rule,    .changes_state = true)
#define FERRY_OPERATORS_WITH_STATE_ON_CPU(X)                                                              \
  X(Positions,         positions,           )

#define FERRY_OPERATORS_WITH_STATE(X) FERRY_OPERATORS_WITH_STATE_ON_GPU(X) FERRY_OPERATORS_WITH_STATE_ON_CPU(X)
#define FERRY_OPERATORS(X) FERRY_OPERATORS_ON_GPU(X) FERRY_OPERATORS_ON_CPU(X) FERRY_OPERATORS_WITH_STATE(X)
// clang-format on

namespace ferry {

// Of any operator.
inline constexpr unsigned kMaxOutputs = 2;

struct OperatorTraits {
  // Which inputs are constants: none need be; input 1 is a weight with a row an output channel, and input 2, where
  // there is one, the bias; all after the first are vectors; all after the third are stacks of weights and of biases.
  enum class Constants : uint8_t { None, Weight, AfterFirst, AfterThird };
  // Whose memory the output may take over.
  enum class InPlace : uint8_t { None, First, Any };

  const char* name = nullptr;
  Constants constants = Constants::None;
  InPlace in_place = InPlace::None;
  bool elementwise = false;     // an element of the output depends on the inputs' elements at its place alone
  unsigned outputs = 1;         // at most; all but the first may be left out
  bool sized_by_input = false;  // a second input, where there is one, only says how large the output is
  bool changes_state = false;   // the state that it names
};

// Of a value outside the enum: the defaults, and the name "unknown".
const OperatorTraits& traits(fbs::OpParams type);

// "conv2d", "pool2d"...
inline const char* op_name(fbs::OpParams type) { return traits(type).name; }

// Does the operator have a weight and perhaps a bias, constants both, as inputs 1 and 2?
inline bool has_weight(fbs::OpParams type) { return traits(type).constants == OperatorTraits::Constants::Weight; }

// Is input `index` a weight that rows are multiplied with: of those operators, or a stack of them?
bool is_weight(fbs::OpParams type, unsigned index);

// Must input `index` be a constant?
bool takes_constant(fbs::OpParams type, unsigned index);

// The tensor that is the operator's first output, of which every operator has one.
inline fbs::TensorId output_of(const fbs::Operator& op) { return op.outputs()->Get(0); }

// Whether a second input, where there is one, only says how large the output is: its elements are not read.
inline bool may_be_sized_by_input(fbs::OpParams type) { return traits(type).sized_by_input; }

// Whether it reads or changes a state.
constexpr bool names_state(fbs::OpParams type) {
#define FERRY_NAMES_STATE(table, name, ...) || type == fbs::OpParams::table
  return false FERRY_OPERATORS_WITH_STATE(FERRY_NAMES_STATE);
#undef FERRY_NAMES_STATE
}

// The state that it names, of an operator of which that is true.
uint32_t state_of(const fbs::Operator& op);

// Whether it changes the state that it names.
inline bool changes_state(fbs::OpParams type) { return traits(type).changes_state; }

// May the output share the memory of input `index`, if they have the same size and that input is not needed afterwards?
bool may_run_in_place(fbs::OpParams type, unsigned index);

}  // namespace ferry
