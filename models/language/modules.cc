#include "models/language/modules.h"

namespace ferry::language {

Tensor rms_norm(Tensor x, const Weights& w, double epsilon) {
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(epsilon);
  params.centered = false;
  const Shape width{channels(x)};
  const Tensor bias = w.graph().add_constant("", width, std::vector<double>(static_cast<size_t>(width[0])));
  return tap(x.graph->add_op(w.name(), params, {x, w("weight", width), bias}), w);
}

Tensor rows(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

Tensor linear(Tensor x, Tensor weight) { return x.graph->add_op("", fbs::LinearT{}, {x, weight}); }

}  // namespace ferry::language
