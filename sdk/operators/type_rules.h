// From the types of an operator's inputs to that of its output. Shared by the converter, the verifier and both
// backends.
#pragma once

#include <span>
#include <string>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"
#include "sdk/status.h"

namespace ferry {

// Types that an input may have, a bit each. An activation is of the first two; the others are ways in which constants
// are stored, whose numbers are computed with as Float32.
using TypeSet = uint32_t;
inline constexpr TypeSet kFloat32 = 1, kInt32 = 2, kFloat16 = 4, kScaledInt8 = 8, kScaledInt4 = 16;
inline constexpr TypeSet kNumbers = kFloat32 | kInt32;
inline constexpr TypeSet kFloats = kFloat32 | kFloat16;
inline constexpr TypeSet kQuantized = kScaledInt8 | kScaledInt4;

// The bit of a type; 0 where no operator takes it.
TypeSet set_of(const Type& type);
// "Float32, Float16 or Int8 with scales"
Words in_words(TypeSet set) noexcept;
// "Int8 with scales"
Words in_words(const Type& type) noexcept;
inline std::string to_string(const Type& type) { return in_words(type).text; }

// For an operator of a known type, of which infer_shape() has taken the inputs' number and the parameters.
// FERRY_UNSUPPORTED: an input is of a type that the operator does not take.
Status infer_type(const fbs::Operator& op, std::span<const Type> inputs, Type* output);

// The same for as many of its outputs as are asked for.
Status infer_types(const fbs::Operator& op, std::span<const Type> inputs, std::span<Type> outputs);

}  // namespace ferry
