// What a session runs on a GPU for given shapes: pure data, no Vulkan handles. Created by lowering (op.h, partition.h),
// allocated by the backend, recorded by commands.h.
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

// The layout of a tensor in a buffer: rows of quads.
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

// A binding of a dispatch.
struct Operand {
  enum class Kind : uint8_t {
    None,
    Value,      // a whole activation
    Weights,    // a region of Program.weights
    Workspace,  // bytes [offset, offset + bytes) of the step's scratch memory
    Host,       // an activation in the transfer buffer: float32, rows without padding
    State,      // a state of fixed size: float32, rows without padding; kernels update it
  };
  Kind kind = Kind::None;
  TensorId tensor = TensorId::None;
  uint32_t region = 0;  // of weights; for a state, its index
  uint64_t offset = 0, bytes = 0;

  static Operand value(TensorId tensor) { return {.kind = Kind::Value, .tensor = tensor}; }
  static Operand weights(size_t region) { return {.kind = Kind::Weights, .region = static_cast<uint32_t>(region)}; }
  static Operand workspace(uint64_t offset, uint64_t bytes) {
    return {.kind = Kind::Workspace, .offset = offset, .bytes = bytes};
  }
  static Operand host(TensorId tensor) { return {.kind = Kind::Host, .tensor = tensor}; }
};

// Memory traffic and arithmetic of a dispatch; a multiply-add counts as 2.
struct Work {
  uint64_t read = 0, written = 0, flops = 0;  // bytes, bytes, operations
};

struct Dispatch {
  Variant variant;
  std::array<uint32_t, 3> groups{1, 1, 1};  // workgroups
  std::array<Operand, kBindings> bindings;  // output, input, weights, operand
  std::array<uint32_t, kPushBytes / 4> push{};
  Work work;

  uint64_t group_count() const { return uint64_t{groups[0]} * groups[1] * groups[2]; }
};

// Default number of invocations per workgroup.
inline constexpr uint32_t kWorkgroup = 64;

// Workgroups for `count` invocations of a kernel with linear_index(), folded into two dimensions if needed.
std::array<uint32_t, 3> spread(uint64_t count, uint32_t workgroup, const Limits& limits);

// Kernel::Upload or Kernel::Download of activation `tensor`: converts the host's float32 to quads, or back. Int32 is
// converted to floats of the same value, and back.
Dispatch transfer(Kernel kernel, TensorId tensor, const Shape& shape, Storage storage, const Limits& limits,
                  fbs::DType dtype = fbs::DType::Float32);

// A part of a weight region: one constant, packed by shaders/pack.comp or a kernel with the same push constants.
struct Piece {
  Kernel kernel{};                   // Pack, or another kernel that reads a constant and writes quads
  TensorId tensor = TensorId::None;  // the constant
  std::array<uint32_t, 32> push{};   // the kernel's push constants except input_offset, which staging sets
  uint64_t quads = 0;
  // Staging splits a piece along its outermost coordinate: source elements and quads per coordinate.
  uint64_t outer_elements = 0, outer_quads = 0;

  bool operator==(const Piece&) const = default;
  bool operator<(const Piece& other) const {
    return std::tie(kernel, tensor, push, quads, outer_elements, outer_quads) <
           std::tie(other.kernel, other.tensor, other.push, other.quads, other.outer_elements, other.outer_quads);
  }
};

// Packed weights of one operator, consecutive pieces. Equal regions of a model are packed once.
struct Region {
  std::vector<Piece> pieces;
  uint64_t quads() const;
  bool operator==(const Region&) const = default;
  bool operator<(const Region& other) const { return pieces < other.pieces; }
};

// One chain of operators on the GPU, or one operator on the CPU.
struct Step {
  std::vector<int> operators;      // in Graph.operators; the last one computes the output
  std::vector<TensorId> inputs;    // activations it reads
  std::vector<TensorId> reusable;  // inputs whose memory the output may reuse
  TensorId output = TensorId::None;
  std::vector<TensorId> further_outputs;  // of an operator with several outputs
  bool view = false;                      // the output is inputs[0] with another shape; no dispatches
  bool on_gpu = true;
  std::string reason;      // the reason why it is on the CPU
  int alternative = 0;     // the selected alternative
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
  PerTensor<int> state_of;             // by tensor: the state whose memory it uses, or -1
  std::vector<uint8_t> device_states;  // by state: 1 if it is on the device
};

}  // namespace ferry::gpu
