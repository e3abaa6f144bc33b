// What a session runs on a GPU for given shapes: pure data, no Vulkan handle. Made by lowering (op.h, partition.h),
// brought to a device by backend.h, whose commands.h records it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sdk/gpu/device/pipelines.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/shape.h"

namespace ferry::gpu {

// A tensor as it lies in a buffer: rows of quads.
struct Rows {
  uint32_t rows = 1;                                     // product of all dimensions but the last
  uint32_t channels = 1;                                 // the last dimension
  uint32_t quads() const { return (channels + 3) / 4; }  // of one row
  uint64_t total() const { return uint64_t{rows} * quads(); }
};
Rows rows_of(const Shape& shape);
// Bytes of a tensor in quads.
inline uint64_t stored_bytes(const Shape& shape, Storage storage) {
  return rows_of(shape).total() * quad_bytes(storage);
}

// What one binding of a dispatch is.
struct Operand {
  enum class Kind : uint8_t {
    None,
    Value,      // an activation, whole
    Weights,    // a region of Program.weights
    Workspace,  // bytes [offset, offset + bytes) of the step's scratch memory
    Host,       // an activation in the transfer buffer, floats, rows without padding
    State,      // a state of fixed size, floats, rows without padding; kernels change it
  };
  Kind kind = Kind::None;
  TensorId tensor = TensorId::None;
  uint32_t region = 0;  // of weights; of states the number
  uint64_t offset = 0, bytes = 0;

  static Operand value(TensorId tensor) { return {.kind = Kind::Value, .tensor = tensor}; }
  static Operand weights(size_t region) { return {.kind = Kind::Weights, .region = static_cast<uint32_t>(region)}; }
  static Operand workspace(uint64_t offset, uint64_t bytes) {
    return {.kind = Kind::Workspace, .offset = offset, .bytes = bytes};
  }
  static Operand host(TensorId tensor) { return {.kind = Kind::Host, .tensor = tensor}; }
};

// What a dispatch does to memory and how much it computes; a multiply-add counts 2.
struct Work {
  uint64_t read = 0, written = 0, flops = 0;  // bytes, bytes, operations
};

struct Dispatch {
  Variant variant;
  std::array<uint32_t, 3> groups{1, 1, 1};  // workgroups
  std::array<Operand, kBindings> bindings;  // output, input, weights, operand
  std::array<uint32_t, kPushBytes / 4> push{};
  Work work;
};

// Invocations of a workgroup where nothing speaks for more or fewer.
inline constexpr uint32_t kWorkgroup = 64;

// Workgroups for `count` invocations of a kernel with linear_index(), folded into two dimensions where one is too long.
std::array<uint32_t, 3> spread(uint64_t count, uint32_t workgroup, const Limits& limits);

// Kernel::Upload or Kernel::Download of activation `tensor`: from the host's floats to quads, or back. Int32 goes up as
// the floats of the same value, and comes down from such.
Dispatch transfer(Kernel kernel, TensorId tensor, const Shape& shape, Storage storage, const Limits& limits,
                  fbs::DType dtype = fbs::DType::Float32);

// A part of a region of weights: one constant, packed by shaders/pack.comp or a kernel of the same push constants.
struct Piece {
  Kernel kernel{};                   // Pack, or another that reads a constant and writes quads
  TensorId tensor = TensorId::None;  // the constant
  std::array<uint32_t, 32> push{};   // the kernel's push constants but for input_offset, which staging sets
  uint64_t quads = 0;
  // Staging cuts a piece along its outermost coordinate: source elements and quads that one step of it takes.
  uint64_t outer_elements = 0, outer_quads = 0;

  bool operator==(const Piece&) const = default;
  bool operator<(const Piece& other) const {
    return std::tie(kernel, tensor, push, quads, outer_elements, outer_quads) <
           std::tie(other.kernel, other.tensor, other.push, other.quads, other.outer_elements, other.outer_quads);
  }
};

// Packed weights of one operator, pieces one after another. Equal regions of a model are packed once.
struct Region {
  std::vector<Piece> pieces;
  uint64_t quads() const;
  bool operator==(const Region&) const = default;
  bool operator<(const Region& other) const { return pieces < other.pieces; }
};

// One chain of operators, on the GPU; or one operator on the CPU.
struct Step {
  std::vector<int> operators;      // in Graph.operators; the last one gives the output
  std::vector<TensorId> inputs;    // activations it reads
  std::vector<TensorId> reusable;  // those whose memory the output may take over
  TensorId output = TensorId::None;
  std::vector<TensorId> further_outputs;  // of an operator that has several
  bool view = false;                      // the output is inputs[0] under another shape; no dispatches
  bool on_gpu = true;
  std::string reason;      // why it is on the CPU
  int alternative = 0;     // which of the operator's alternatives was taken
  uint64_t workspace = 0;  // bytes
  std::vector<Dispatch> dispatches;
};

inline std::vector<TensorId> outputs_of(const Step& step) {
  std::vector<TensorId> outputs = step.further_outputs;
  outputs.insert(outputs.begin(), step.output);
  return outputs;
}

struct Program {
  Storage storage = Storage::Float32;
  Shapes shapes;  // of every tensor of the model
  std::vector<Step> steps;
  std::vector<Region> weights;
  PerTensor<int> state_of;             // by tensor: the state whose memory it is, or -1
  std::vector<uint8_t> device_states;  // by state: kernels change it and read it; else the CPU does
};

}  // namespace ferry::gpu
