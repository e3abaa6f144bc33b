// An operator lowered to the CPU for one session. One file per operator.
#pragma once

#include "sdk/threads/pool.h"

#include <memory>
#include <span>

#include "ferry_generated.h"
#include "sdk/cpu/backend/features.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {
class States;
}

namespace ferry::cpu {

class RowOp;

class Op {
 public:
  virtual ~Op() = default;
  // Sizes are known. May allocate; called at session creation and at every resize. `inputs` holds the shapes of all
  // inputs, constants included. *workspace: bytes of scratch memory that run() needs (0 if left unchanged); it may
  // exceed the address space.
  virtual Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) = 0;
  // Addresses are known: one per input (constants included) and the output's. Kernels may read kExtraBytes past each.
  virtual Status setup(std::span<const void* const> inputs, void* output, void* workspace) = 0;
  // The same for an operator with several outputs.
  virtual Status setup_outputs(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace) {
    return setup(inputs, outputs[0], workspace);
  }
  // Allocates nothing. Results are bit-identical for every pool.
  virtual Status run(Pool* pool) = 0;
  // After a run: which step follows. Repeat: the one after the LoopBegin; Leave: the LoopEnd of this LoopBegin.
  enum class Flow { Next, Repeat, Leave };
  virtual Flow flow() const { return Flow::Next; }
  // The states as they are before the run. Called before reshape(), and again whenever a length has changed that the
  // operator's shape depends on. For a state of fixed size, query its contents and address in run().
  virtual void set_states(const States&) {}
  // The elementwise operation that follows this operator: a function, or an addition of a tensor of the same shape with
  // the clamp of the sum.
  struct Next {
    const CpuFeatures& cpu;
    const fbs::Unary* function;   // or null
    const fbs::Binary* addition;  // otherwise
    const void** added;  // set by the operator that fuses the addition: where it reads the address of the added tensor
  };
  // Fuses the next operator into this one; false if it cannot. Called before reshape().
  virtual bool fuse(Next&) { return false; }
  // Returns this if the operator can compute ranges of rows (bands.h). Called after fuse().
  virtual const RowOp* by_rows() const { return nullptr; }
};

// Lowers operator `op` of `model` to kernels for a CPU with these features. Packs constant weights that the model's
// store lacks. FERRY_UNSUPPORTED: the CPU backend has no such lowering.
Status create_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// The same in float16, for a CPU with CpuFeatures::float16. *out is null if there is no such lowering.
Status create_float16_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// Initializes XNNPACK, once per process.
Status initialize();

}  // namespace ferry::cpu
