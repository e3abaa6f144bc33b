// How operators become dispatches. One file an op.
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

// An operator to lower, with the elementwise ones that ride on it.
struct Problem {
  const fbs::Operator& op;
  std::vector<Shape> inputs;      // of op, constants too
  std::vector<Type> types;        // of those
  Shape scales;                   // of input 1, where that is quantised
  std::vector<bool> is_constant;  // of op's inputs
  Shape output;                   // of op, and of the whole chain
  TensorId output_tensor;         // of the whole chain
  Shape state;                    // that op changes, where it is of fixed size; else of rank 0
  Epilogue epilogue;              // after op; without op's own clamp
  Storage storage;
  const Limits& limits;

  TensorId input_tensor(unsigned i) const { return op.inputs()->Get(i); }
};

// Up to which each holds every integer.
inline constexpr uint32_t kIntegersInFloat16 = 1 << 11, kIntegersInFloats = 1 << 24;

// A number in the bits that kernels read.
inline uint32_t word(int64_t number) { return static_cast<uint32_t>(number); }

// Words one after the other, at most as many as are pushed.
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

// A dispatch as a lowering writes it down.
struct Call {
  Kernel kernel{};
  std::array<uint32_t, 3> workgroup{kWorkgroup, 1, 1};
  std::array<uint32_t, 3> groups{1, 1, 1};
  WordList constants;                       // from constant_id 3 on; 7 where the kernel has an epilogue
  WordList push;                            // from word 0 on; 12 where the kernel has an epilogue
  Operand output, input, weights, operand;  // output None: the chain's; input None: op's input 0
  uint64_t flops = 0;                       // a multiply-add counts 2
  uint64_t written = 0;                     // bytes, where it is not the whole output
};

// A problem's lowering under construction: a step's dispatches and the weights that they want.
class Lowering {
 public:
  Lowering(const Problem& problem, Step* step, std::vector<Region>* weights)
      : problem_(problem), step_(step), weights_(weights) {}

  const Problem& problem() const { return problem_; }

  // A kernel without an epilogue.
  void add(const Call& call);
  // A kernel that includes epilogue.glsl: clamps to [min, max] (op's own clamp), then the chain's steps. The steps'
  // vectors are packed behind `region`, in the same binding. FERRY_UNSUPPORTED: there is no room for so many steps.
  Status add_with_epilogue(Call call, Region region = {}, float min = -INFINITY, float max = INFINITY);

  // Input `i` of the operator: the activation, or the constant packed in rows.
  Operand input(unsigned i);
  // Scratch memory of this step, aligned for a binding.
  Operand workspace(uint64_t bytes);
  Operand weights(Region region);
  // The operator's state of fixed size, which the kernel changes in place.
  Operand state() const;

  // The same step, for a problem that says it otherwise. `problem` must outlive the result.
  Lowering with(const Problem& problem) const { return {problem, step_, weights_}; }

 private:
  const Problem& problem_;
  Step* step_;
  std::vector<Region>* weights_;
};

// Has `op` kernels that end in an epilogue, so that others may ride on it?
bool has_epilogue(fbs::OpParams type);
// Has every epilogue this elementwise operator? Sines are in a kernel of their own.
bool may_ride(const fbs::Operator& op);

// Has the GPU kernels for this operator, for its kind and for inputs of these types? FERRY_UNSUPPORTED: no, and why.
Status serves(const fbs::Operator& op, std::span<const Type> inputs);

// How many ways there are to lower `op`; they are tried in order. 0: the GPU has no such operator.
int alternatives(fbs::OpParams type);
// FERRY_UNSUPPORTED: this alternative does not fit the problem, and nothing was added.
Status lower(const Problem& problem, int alternative, Lowering* out);

// FERRY_UNSUPPORTED, with why this alternative does not fit.
[[gnu::format(printf, 1, 2)]] Status unsupported(const char* format, ...);

// Inputs of an output that share a scale, of weights in blocks (shaders/weights.glsl).
inline constexpr int32_t kScaleBlock = 32;

// That an invocation may spend in its loops: lavapipe leaves them after 65535 rounds in all, and computes wrongly.
inline constexpr uint64_t kMaxRounds = 60000;

// ---- pieces of weights ----------------------------------------------------------------------------------------------

// [rows][length] in rows of quads: biases, vectors. One element for a whole row where `repeat`.
Piece pack_rows(TensorId tensor, uint32_t rows, uint32_t length, bool repeat = false);
// [O][K][I] as quads over four outputs: [O/4][K][I/4][4 of I]. Convolutions (K = KH*KW) and linears (K = 1).
Piece pack_outputs(TensorId tensor, uint32_t outputs, uint32_t taps, uint32_t inputs);
// [O][I] of Int8 or Int4 as pack_outputs(), but in their bits: 16 of them in four words or in two.
Piece pack_integers(TensorId tensor, uint32_t outputs, uint32_t inputs, fbs::DType dtype, Storage storage);
// [O][blocks] scales as quads over four outputs, of Float32 whatever the storage: [O/4][blocks]. One for all outputs
// where `repeat`.
Piece pack_scales(TensorId tensor, uint32_t outputs, uint32_t blocks, bool repeat, Storage storage);
// [O][9][I], 3x3 kernels transformed for Winograd's filtering, to n*n = 16 or 36 points: [O/4][n*n][I/4][4 of I].
Piece pack_winograd(TensorId tensor, uint32_t outputs, uint32_t inputs, uint32_t points);
// [C][K] as quads over four channels: [K][C/4]. Depthwise convolutions.
Piece pack_depthwise(TensorId tensor, uint32_t channels, uint32_t taps);

}  // namespace ferry::gpu
