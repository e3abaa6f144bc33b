#include "sdk/gpu/lowering/epilogue.h"

#include <cmath>

namespace ferry::gpu {
namespace {

uint8_t binary_kind(fbs::BinaryKind kind, bool reversed) {
  const bool commutes = kind != fbs::BinaryKind::Sub && kind != fbs::BinaryKind::Div && kind != fbs::BinaryKind::PRelu;
  const uint8_t first = reversed && !commutes ? EpilogueStep::kReversed : EpilogueStep::kBinary;
  return static_cast<uint8_t>(first + static_cast<uint8_t>(kind));
}

// One element per channel, or a single element.
bool is_vector(const Shape& shape, const Shape& output) {
  const int64_t elements = shape.elements();
  return elements == 1 || (elements == shape[shape.rank - 1] && elements == output[output.rank - 1]);
}

// The output's shape, or that with 1 for all dimensions between the first and the last: rows are shared.
bool is_tensor(const Shape& shape, const Shape& output) {
  if (shape.rank != output.rank || output.rank == 0) return false;
  if (shape == output) return true;
  for (int i = 1; i + 1 < shape.rank; ++i)
    if (shape[i] != 1) return false;
  return shape.rank >= 2 && shape[0] == output[0] && shape[shape.rank - 1] == output[output.rank - 1];
}

}  // namespace

bool Epilogue::add(const EpilogueStep& step) {
  if (steps.size() == kMaxEpilogueSteps) return false;
  if (step.source == EpilogueStep::Source::Tensor && tensor() != TensorId::None) return false;
  steps.push_back(step);
  return true;
}

bool Epilogue::add_clamp(float min, float max) {
  if (std::isinf(min) && std::isinf(max)) return true;
  return add({.kind = EpilogueStep::kUnary + static_cast<uint8_t>(fbs::UnaryKind::Clamp), .alpha = min, .beta = max});
}

TensorId Epilogue::tensor() const {
  for (const EpilogueStep& step : steps)
    if (step.source == EpilogueStep::Source::Tensor) return step.tensor;
  return TensorId::None;
}

bool append(const fbs::Operator& op, unsigned side, const Shape& output, const std::vector<Shape>& shapes,
            const std::vector<bool>& is_constant, Epilogue* epilogue) {
  if (const fbs::Unary* unary = op.params_as_Unary()) {
    return epilogue->add({.kind = static_cast<uint8_t>(EpilogueStep::kUnary + static_cast<uint8_t>(unary->kind())),
                          .alpha = unary->alpha(),
                          .beta = unary->beta()});
  }
  const fbs::Binary* binary = op.params_as_Binary();
  if (binary == nullptr || shapes[side] != output) return false;
  const unsigned other = 1 - side;
  EpilogueStep step{.kind = binary_kind(binary->kind(), side == 1), .tensor = op.inputs()->Get(other)};
  if (is_constant[other] && is_vector(shapes[other], output)) {
    step.source = EpilogueStep::Source::Vector;
    step.repeat = shapes[other].elements() == 1;
  } else if (!is_constant[other] && is_tensor(shapes[other], output)) {
    step.source = EpilogueStep::Source::Tensor;
    step.rows = static_cast<uint32_t>(output.elements() / shapes[other].elements());
  } else {
    return false;
  }
  Epilogue longer = *epilogue;
  if (!longer.add(step) || !longer.add_clamp(binary->output_min(), binary->output_max())) return false;
  *epilogue = std::move(longer);
  return true;
}

}  // namespace ferry::gpu
