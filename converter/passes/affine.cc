#include "converter/passes/affine.h"

#include <cmath>

namespace ferry {

Affine Affine::identity(int channels) {
  const size_t count = static_cast<size_t>(channels);
  return {std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
}

Affine Affine::then(const Affine& later) const {
  Affine both = *this;
  for (size_t i = 0; i < scale.size(); ++i) {
    both.scale[i] *= later.scale[i];
    both.shift[i] = both.shift[i] * later.scale[i] + later.shift[i];
  }
  return both;
}

std::optional<Affine> as_affine(const Graph& graph, const fbs::OperatorT& op, size_t variable) {
  const Shape out = graph.shape(op.outputs.front());
  const TensorId constant = op.inputs[1 - variable];
  if (out.rank == 0 || graph.shape(op.inputs[variable]) != out || !graph.is_constant(constant)) return {};
  const int channels = out[out.rank - 1];
  const Shape shape = graph.shape(constant);
  const int64_t count = shape.elements();
  if (count != 1 && !(count == channels && shape[shape.rank - 1] == channels)) return {};
  std::vector<double> c = graph.values(constant);
  c.resize(static_cast<size_t>(channels), c.front());
  Affine affine = Affine::identity(channels);
  for (size_t i = 0; i < c.size(); ++i) {
    switch (op.params.AsBinary()->kind) {
      case fbs::BinaryKind::Mul: affine.scale[i] = c[i]; break;
      case fbs::BinaryKind::Add: affine.shift[i] = c[i]; break;
      case fbs::BinaryKind::Sub:
        affine.scale[i] = variable == 0 ? 1 : -1;
        affine.shift[i] = variable == 0 ? -c[i] : c[i];
        break;
      case fbs::BinaryKind::Div:
        if (variable == 1 || c[i] == 0) return {};
        affine.scale[i] = 1 / c[i];
        break;
      default: return {};
    }
  }
  return affine;
}

bool clamps(float low, float high) { return !(std::isinf(low) && low < 0 && std::isinf(high) && high > 0); }

}  // namespace ferry
