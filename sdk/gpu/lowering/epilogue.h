// Elementwise operators fused into the end of a kernel: the host side of shaders/epilogue.glsl.
#pragma once

#include <cstdint>
#include <vector>

#include "ferry_generated.h"
#include "sdk/model/tensor_id.h"
#include "sdk/operators/shape.h"

namespace ferry::gpu {

struct EpilogueStep {
  // A kind is one of these plus UnaryKind or BinaryKind; kReversed: with the operands swapped. 0 is no step.
  // cmake/shader_kinds.py generates the shaders' constants from this and the schema.
  static constexpr uint8_t kUnary = 1, kBinary = 32, kReversed = 64;
  static_assert(kUnary + static_cast<int>(fbs::UnaryKind::MAX) < kBinary);
  static_assert(kBinary + static_cast<int>(fbs::BinaryKind::MAX) < kReversed);
  enum class Source : uint8_t {
    Scalar,  // `alpha`
    Vector,  // a constant with one element per channel, or a single element
    Tensor,  // an activation of the output's shape, or with 1 for all dimensions between the first and the last
  };

  uint8_t kind = 0;
  Source source = Source::Scalar;
  float alpha = 0, beta = 0;
  TensorId tensor = TensorId::None;  // Vector, Tensor; None: the call's own operand
  bool repeat = false;               // Vector: one element for all channels
  uint32_t rows = 1;                 // Tensor: output rows that share one of its rows

  uint32_t constant() const { return kind + 256u * static_cast<uint32_t>(source); }
};

inline constexpr size_t kMaxEpilogueSteps = 4;

// At most kMaxEpilogueSteps steps, at most one of them with a tensor.
struct Epilogue {
  std::vector<EpilogueStep> steps;
  // Appends a clamp to [min, max] if either is finite. False: no room.
  bool add_clamp(float min, float max);
  bool add(const EpilogueStep& step);
  TensorId tensor() const;  // the tensor that a step reads, or None
};

// Appends operator `op` (Unary or Binary). Its input number `side` is the chain's value, of shape `output`; `shapes`
// and `is_constant` describe its inputs. False: it cannot be fused, and *epilogue is unchanged.
bool append(const fbs::Operator& op, unsigned side, const Shape& output, const std::vector<Shape>& shapes,
            const std::vector<bool>& is_constant, Epilogue* epilogue);

}  // namespace ferry::gpu
