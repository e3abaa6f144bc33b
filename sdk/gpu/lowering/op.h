// Lowers operators to dispatches. One file per operator.
#pragma once

#include <array>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "ferry_generated.h"
#include "sdk/gpu/lowering/epilogue.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"
#include "sdk/status.h"

namespace ferry::gpu {

// An operator to lower, with the elementwise operators fused into it.
struct Problem {
  const fbs::Operator& op;
  std::vector<Shape> inputs;      // of op, constants included
  std::vector<Type> types;        // of the inputs
  Shape scales;                   // of input 1, if it is quantized
  std::vector<bool> is_constant;  // of op's inputs
  Shape output;                   // of op, and of the whole chain
  TensorId output_tensor;         // of the whole chain
  Shape state;                    // of the state of fixed size that op changes; otherwise of rank 0
  Epilogue epilogue;              // after op; excludes op's own clamp
  Storage storage;
  const Limits& limits;

  TensorId input_tensor(unsigned i) const { return op.inputs()->Get(i); }
};

// The type represents every integer up to this.
inline constexpr uint32_t kIntegersInFloat16 = 1 << 11, kIntegersInFloats = 1 << 24;

// The bits of an integer as kernels read them.
inline uint32_t word(int64_t number) { return static_cast<uint32_t>(number); }

// A list of words, at most as many as push constants.
class WordList {
 public:
  WordList() = default;
  WordList(std::initializer_list<uint32_t> words) { append(words); }

  void append(std::span<const uint32_t> words);
  void append(std::initializer_list<uint32_t> words) { append(std::span(words.begin(), words.size())); }
  void append(uint32_t word) { append({&word, 1}); }

  operator std::span<const uint32_t>() const { return {words_.data(), count_}; }

 private:
  std::array<uint32_t, kPushBytes / sizeof(uint32_t)> words_;
  size_t count_ = 0;
};

// A dispatch as a lowering describes it.
struct Call {
  Kernel kernel{};
  std::array<uint32_t, 3> workgroup{kWorkgroup, 1, 1};
  std::array<uint32_t, 3> groups{1, 1, 1};
  WordList constants;                       // from constant_id 3, or 7 if the kernel has an epilogue
  WordList push;                            // from word 0, or 12 if the kernel has an epilogue
  Operand output, input, weights, operand;  // output None: the chain's; input None: op's input 0
  uint64_t flops = 0;                       // a multiply-add counts as 2
  uint64_t written = 0;                     // bytes, if not the whole output
};

// The lowering of a problem under construction: a step's dispatches and the weights that they read.
class Lowering {
 public:
  Lowering(const Problem& problem, Step* step, std::vector<Region>* weights)
      : problem_(problem), step_(step), weights_(weights) {}

  const Problem& problem() const { return problem_; }

  // Adds a kernel without an epilogue.
  void add(const Call& call);
  // Adds a kernel that includes epilogue.glsl: clamps to [min, max] (op's own clamp), then applies the chain's steps.
  // The steps' vectors are packed after `region`, in the same binding. FERRY_UNSUPPORTED: too many steps.
  Status add_with_epilogue(Call call, Region region = {}, float min = -INFINITY, float max = INFINITY);

  // Input `i` of the operator: the activation, or the constant packed in rows of quads.
  Operand input(unsigned i);
  // Scratch memory of this step, aligned for a binding.
  Operand workspace(uint64_t bytes);
  Operand weights(Region region);
  // The operator's state of fixed size, which the kernel updates in place.
  Operand state() const;

  // The same step for an equivalent problem. `problem` must outlive the result.
  Lowering with(const Problem& problem) const { return {problem, step_, weights_}; }

 private:
  const Problem& problem_;
  Step* step_;
  std::vector<Region>* weights_;
};

// Whether `op` has kernels with an epilogue, so that operators can be fused into it.
bool has_epilogue(fbs::OpParams type);
// Whether every epilogue supports this elementwise operator. Sin and Cos have a kernel of their own.
bool may_ride(const fbs::Operator& op);

// Whether the GPU has kernels for this operator, its kind and inputs of these types. FERRY_UNSUPPORTED: no; the message
// says why.
Status serves(const fbs::Operator& op, std::span<const Type> inputs);

// Number of alternatives to lower `op`, tried in order. 0: the GPU has no such operator.
int alternatives(fbs::OpParams type);
// FERRY_UNSUPPORTED: this alternative does not fit the problem, and nothing was added.
Status lower(const Problem& problem, int alternative, Lowering* out);

// FERRY_UNSUPPORTED with the reason why an alternative does not fit.
[[gnu::format(printf, 1, 2)]] Status unsupported(const char* format, ...);

// Inputs per scale of weights that are quantized in blocks (shaders/weights.glsl).
inline constexpr int32_t kScaleBlock = 32;

// Maximum loop iterations per invocation: lavapipe stops after 65535 in all and returns wrong results.
inline constexpr uint64_t kMaxRounds = 60000;

// ---- pieces of weights ----------------------------------------------------------------------------------------------

// [rows][length] as rows of quads: biases, vectors. `repeat`: one element for a whole row.
Piece pack_rows(TensorId tensor, uint32_t rows, uint32_t length, bool repeat = false);
// [O][K][I] as quads over four outputs: [O/4][K][I/4][4 of I]. Convolutions (K = KH*KW) and linear (K = 1).
Piece pack_outputs(TensorId tensor, uint32_t outputs, uint32_t taps, uint32_t inputs);
// Int8 or Int4 [O][I] in the order of pack_outputs(), not dequantized: 16 elements in four words or two.
Piece pack_integers(TensorId tensor, uint32_t outputs, uint32_t inputs, fbs::DType dtype, Storage storage);
// Scales [O][blocks] as quads over four outputs, always Float32: [O/4][blocks]. `repeat`: one for all outputs.
Piece pack_scales(TensorId tensor, uint32_t outputs, uint32_t blocks, bool repeat, Storage storage);
// 3x3 kernels [O][9][I], transformed for Winograd's filtering to n*n = 16 or 36 points: [O/4][n*n][I/4][4 of I].
Piece pack_winograd(TensorId tensor, uint32_t outputs, uint32_t inputs, uint32_t points);
// [C][K] as quads over four channels: [K][C/4]. Depthwise convolutions.
Piece pack_depthwise(TensorId tensor, uint32_t channels, uint32_t taps);

}  // namespace ferry::gpu
