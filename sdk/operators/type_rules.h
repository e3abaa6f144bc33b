// From the element types of an operator's inputs to that of its output. Shared by the converter and the verifier.
#pragma once

#include <span>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// `inputs` are Float32 or Int32; an operator of a known type, of which infer_shape() has taken the inputs' number and the
// parameters. FERRY_UNSUPPORTED: an input is of a type that the operator does not take.
Status infer_dtype(const fbs::Operator& op, std::span<const fbs::DType> inputs, fbs::DType* output);

// The same for as many of its outputs as are asked for.
Status infer_dtypes(const fbs::Operator& op, std::span<const fbs::DType> inputs, std::span<fbs::DType> outputs);

}  // namespace ferry
