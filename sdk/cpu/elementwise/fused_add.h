// Fuses an addition, as of a residual connection, into the operator before it, while the operands are in the cache.
#pragma once

#include "sdk/cpu/backend/op.h"

namespace ferry::cpu {

// `next` adds `source` (the output of `op`, float16 or float32, read by `next` only) to another value of the same
// shape. Asks `op` to add that value, too; on success *out is the remaining operator, a view of `source`. Otherwise
// *out stays null.
[[gnu::cold]] Status fuse_addition(const CpuFeatures& cpu, const Model& model, const fbs::Operator& next,
                                   TensorId source, bool float16, Op* op, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
