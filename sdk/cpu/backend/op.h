// An operator lowered to the CPU for one session. One file an op.
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
  // Sizes are known. May allocate; called at session creation and at every resize. `inputs` holds the shapes of all the
  // operator's inputs, constants too. *workspace: bytes of scratch memory that run() needs (0 when untouched),
  // which may be more than there is address space.
  virtual Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) = 0;
  // Addresses are known: one for each input (constants too) and for the output. kExtraBytes may be read past each.
  virtual Status setup(std::span<const void* const> inputs, void* output, void* workspace) = 0;
  // The same for an operator with several outputs.
  virtual Status setup_outputs(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace) {
    return setup(inputs, outputs[0], workspace);
  }
  // Allocates nothing. Gives the same bits for every pool.
  virtual Status run(Pool* pool) = 0;
  // The states, as they are before the run; called before reshape(), which is called again whenever a length has
  // changed on which the operator's shape depends. What one of fixed size holds, and where, is to be asked for in
  // run().
  virtual void set_states(const States&) {}
  // What the next operator does to each of this one's numbers: a function, or an addition of as many others and what
  // limits the sum.
  struct Next {
    const CpuFeatures& cpu;
    const fbs::Unary* function;   // or null
    const fbs::Binary* addition;  // otherwise
    const void** added;           // set by who takes the addition over: where it will look for the others' address
  };
  // Takes it over; false where it cannot. Called before reshape().
  virtual bool fuse(Next&) { return false; }
  // Itself, where it can compute rows of pixels on their own (bands.h); asked after fuse().
  virtual const RowOp* by_rows() const { return nullptr; }
};

// Lowers operator `op` of `model` to kernels for a CPU with these features: packs constant weights unless the model's
// store has them.
// FERRY_UNSUPPORTED: no such lowering on the CPU.
Status create_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// The same with halves in the place of floats, for a CPU with CpuFeatures::half; *out is null where there is no such
// lowering.
Status create_float16_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// Prepares XNNPACK once in the process.
Status initialize();

}  // namespace ferry::cpu
