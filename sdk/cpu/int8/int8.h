// Operators on Int8 activations. Each gives the integers that docs/format.md, "Integer arithmetic", defines.
#pragma once

#include <algorithm>
#include <cmath>

#include "sdk/cpu/backend/op.h"
#include "sdk/operators/type.h"

namespace ferry::cpu {

// How the integers of a tensor stand for real numbers: (integer - zero_point) * scale.
struct Int8Scale {
  float scale = 1;
  int32_t zero_point = 0;

  // The integer of a real number.
  int8_t integer(float value) const {
    const float units = std::nearbyint(std::clamp(value / scale, -512.0f, 512.0f));
    return static_cast<int8_t>(std::clamp(static_cast<int32_t>(units) + zero_point, -128, 127));
  }
};

inline Int8Scale int8_scale(const Model& model, TensorId tensor) {
  const Type type = type_of(model.tensor(tensor));
  return {type.float_scale, type.zero_point};
}

inline bool is_int8(const Model& model, TensorId tensor) { return model.tensor(tensor).dtype() == fbs::DType::Int8; }

inline const int8_t* integers(const void* data) { return static_cast<const int8_t*>(data); }
inline int8_t* integers(void* data) { return static_cast<int8_t*>(data); }

// FERRY_UNSUPPORTED: a quotient of scales that float32 does not hold.
Status check_multiplier(const fbs::Operator& op, float multiplier);

// Lowers an operator that reads or writes Int8. *out stays null if the lowering for floats serves it: it moves elements
// of any size, or selects an algorithm by type.
Status create_int8_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// One per file.
Status create_int8_binary(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_int8_pool2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_int8_reduce(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_int8_resize2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

// ---- loops (kernels.exact.cc) ---------------------------------------------------------------------------------------

// From numbers in units of the output's scale to integers: rounded to nearest even, plus the zero point, clamped. `low`
// and `high` include the zero point.
struct Int8Output {
  int32_t zero_point = 0, low = -128, high = 127;
};

// to[i] = from[i] * multiplier; NaN becomes the zero point.
void quantize_floats(const float* from, float multiplier, const Int8Output& output, int8_t* to, size_t count);
void dequantize(const int8_t* from, const Int8Scale& scale, float* to, size_t count);
// to[i] = (from[i] - zero_point) * multiplier.
void requantize(const int8_t* from, int32_t zero_point, float multiplier, const Int8Output& output, int8_t* to,
                size_t count);

// The operands of a sum, or of a product with one multiplier.
struct Int8Operands {
  int32_t zero_a, zero_b;
  float scale_a, scale_b;  // in units of the output's scale; scale_b of a difference is negative, of a product unused

  Int8Operands swapped() const { return {zero_b, zero_a, scale_b, scale_a}; }
};
// step_b: 1, or 0 if b is one element that repeats.
void add_rows(const int8_t* a, const int8_t* b, size_t step_b, const Int8Operands& operands, const Int8Output& output,
              int8_t* to, size_t count);
void multiply_rows(const int8_t* a, const int8_t* b, size_t step_b, const Int8Operands& operands,
                   const Int8Output& output, int8_t* to, size_t count);

// sums[i] += from[i] - zero_point; wraps.
void add_to_sums(const int8_t* from, int32_t zero_point, int32_t* sums, size_t count);
// to[i] = sums[i] * multiplier.
void quantize_sums(const int32_t* sums, float multiplier, const Int8Output& output, int8_t* to, size_t count);
// The sum of (x[i] - zero_point) * weight[i]; wraps.
int32_t wide_product(const int8_t* x, int32_t zero_point, const int16_t* weight, size_t count);
// to[i] = max(to[i], from[i]).
void maximum(const int8_t* from, int8_t* to, size_t count);

// to[i] = table[from[i] + 128], with 256 entries (lookup.kernel.cc).
void lookup(const int8_t* table, const int8_t* from, int8_t* to, size_t count);

}  // namespace ferry::cpu
