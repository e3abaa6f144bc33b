// Infers the type of an operator's output from the types of its inputs. Shared by converter, verifier and both
// backends.
#pragma once

#include <span>
#include <string>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"
#include "sdk/status.h"

namespace ferry {

// A set of types, one bit each. Activations are Float32, Int32 or kInt8, which is quantised; the others are storage
// types of constants, which are computed with as Float32, or as integers where an activation is Int8.
using TypeSet = uint8_t;
inline constexpr TypeSet kFloat32 = 1, kInt32 = 2, kFloat16 = 4, kScaledInt8 = 8, kScaledInt4 = 16, kInt8 = 32;
inline constexpr TypeSet kNumbers = kFloat32 | kInt32;
inline constexpr TypeSet kFloats = kFloat32 | kFloat16;
inline constexpr TypeSet kQuantized = kScaledInt8 | kScaledInt4;

// The bit of a type; 0 if no operator accepts it.
TypeSet set_of(const Type& type);
// For example "Float32, Float16 or Int8 with scales".
Words in_words(TypeSet set) noexcept;
// For example "Int8 with scales".
Words in_words(const Type& type) noexcept;
inline std::string to_string(const Type& type) { return in_words(type).text; }

// Requires a known operator whose inputs and parameters infer_shape() has checked. An Int8 output has the float_scale 0
// where its quantization does not follow from the inputs. FERRY_UNSUPPORTED: the operator does not accept an input's
// type.
Status infer_type(const fbs::Operator& op, std::span<const Type> inputs, Type* output);

// The same for the first outputs.size() outputs.
Status infer_types(const fbs::Operator& op, std::span<const Type> inputs, std::span<Type> outputs);

}  // namespace ferry
