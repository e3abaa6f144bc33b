// Elementwise steps that ride at the end of a kernel: the host's side of shaders/epilogue.glsl.
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
    Vector,  // a constant with one element a channel, or one for all
    Tensor,  // an activation of the output's shape, or with 1 for every dimension between the first and the last
  };

  uint8_t kind = 0;
  Source source = Source::Scalar;
  float alpha = 0, beta = 0;
  TensorId tensor = TensorId::None;  // Vector, Tensor; None: the call has an operand
  bool repeat = false;               // Vector: one element for all channels
  uint32_t rows = 1;                 // Tensor: output rows that share one of its rows

  uint32_t constant() const { return kind + 256u * static_cast<uint32_t>(source); }
};

inline constexpr size_t kMaxEpilogueSteps = 4;

// At most four steps, at most one of them with a tensor.
struct Epilogue {
  std::vector<EpilogueStep> steps;
  // A clamp to [min, max], where either is finite. False: there is no room.
  bool add_clamp(float min, float max);
  bool add(const EpilogueStep& step);
  TensorId tensor() const;  // the one that a step reads, or None
};

// Appends operator `op` (Unary or Binary), whose input number `side` is the value that the chain carries, of shape
// `output`; `shapes` and `is_constant` are those of its inputs. False: it cannot ride, and *epilogue is as before.
bool append(const fbs::Operator& op, unsigned side, const Shape& output, const std::vector<Shape>& shapes,
            const std::vector<bool>& is_constant, Epilogue* epilogue);

}  // namespace ferry::gpu
