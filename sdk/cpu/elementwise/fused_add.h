// An addition that the operator before it computes, as residual connections have it: where both are in the cache.
#pragma once

#include "sdk/cpu/backend/op.h"

namespace ferry::cpu {

// Of `next`, which adds `source` (the output of `op`, read by nothing else, of halves or floats) to another value of
// its shape: asks `op` to add that, too, and makes the operator that is left of it, a view of `source`. Otherwise *out
// stays null.
[[gnu::cold]] Status fuse_addition(const CpuFeatures& cpu, const Model& model, const fbs::Operator& next,
                                   TensorId source, bool float16, Op* op, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
