// The list of operators, one line each. Everything that must cover all operators is generated from this list, so that a
// missing case does not compile or link: names, shape rules, both backends' lowerings, GPU canaries, the oracle,
// in-place memory, chains, multiplication counts. docs/architecture.md, "How to add something", walks through them.
#pragma once

#include <cstdint>

#include "ferry_generated.h"

// X(schema table, plain name, differences from OperatorTraits' defaults). Files and functions use the plain name:
// sdk/cpu/ops/conv2d.cc has create_conv2d().
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

// Only the CPU computes these.
#define FERRY_OPERATORS_ON_CPU(X)                                                                         \
  X(Cast,              cast,                .in_place = InPlace::First, .elementwise = true)              \
  X(Select,            select,              .in_place = InPlace::Any, .elementwise = true)                \
  X(NonMaxSuppression, non_max_suppression, )                                                             \
  X(Recurrence,        recurrence,          )                                                             \
  X(LoopBegin,         loop_begin,          .outputs = kMaxOutputs)                                       \
  X(LoopEnd,           loop_end,            .outputs = kMaxOutputs)                                       \
  X(Requantize,        requantize,          .elementwise = true)                                          \
  X(Lookup,            lookup,              .constants = Constants::AfterFirst, .in_place = InPlace::First, \
                                            .elementwise = true)

// These read or change a state, and their shapes may depend on it.
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

// Maximum over all operators.
inline constexpr unsigned kMaxOutputs = 64;

struct OperatorTraits {
  // Which inputs are constants. None: none has to be. Weight: input 1 is a weight with one row per output channel, the
  // optional input 2 the bias. AfterFirst: all after input 0 are vectors. AfterThird: all after input 2 are stacks of
  // weights and of biases.
  enum class Constants : uint8_t { None, Weight, AfterFirst, AfterThird };
  // The input whose memory the output may reuse.
  enum class InPlace : uint8_t { None, First, Any };

  const char* name = nullptr;
  Constants constants = Constants::None;
  InPlace in_place = InPlace::None;
  bool elementwise = false;     // an output element depends only on the input elements at the same position
  unsigned outputs = 1;         // maximum; all but the first are optional
  bool sized_by_input = false;  // an optional second input is used for its shape only
  bool changes_state = false;   // changes the state that it names
};

// For a value outside of the enum: the defaults, and the name "unknown".
const OperatorTraits& traits(fbs::OpParams type);

// For example "conv2d".
inline const char* op_name(fbs::OpParams type) { return traits(type).name; }

// Whether the operator has a constant weight (input 1) and optionally a constant bias (input 2).
inline bool has_weight(fbs::OpParams type) { return traits(type).constants == OperatorTraits::Constants::Weight; }

// Whether input `index` is a weight that rows are multiplied with, or a stack of such weights.
bool is_weight(fbs::OpParams type, unsigned index);

// Whether input `index` must be a constant.
bool takes_constant(fbs::OpParams type, unsigned index);

// The operator's first output, which always exists.
inline fbs::TensorId output_of(const fbs::Operator& op) { return op.outputs()->Get(0); }

// Whether an optional second input is used for its shape only; its elements are not read.
inline bool may_be_sized_by_input(fbs::OpParams type) { return traits(type).sized_by_input; }

// Whether the operator reads or changes a state.
constexpr bool names_state(fbs::OpParams type) {
#define FERRY_NAMES_STATE(table, name, ...) || type == fbs::OpParams::table
  return false FERRY_OPERATORS_WITH_STATE(FERRY_NAMES_STATE);
#undef FERRY_NAMES_STATE
}

// The state that the operator names; requires names_state().
uint32_t state_of(const fbs::Operator& op);

// Whether the operator begins or ends a loop.
constexpr bool bounds_loop(fbs::OpParams type) {
  return type == fbs::OpParams::LoopBegin || type == fbs::OpParams::LoopEnd;
}

// Whether the operator changes the state that it names.
inline bool changes_state(fbs::OpParams type) { return traits(type).changes_state; }

// Whether the output may share the memory of input `index`, given equal sizes and no later use of that input.
bool may_run_in_place(fbs::OpParams type, unsigned index);

}  // namespace ferry
