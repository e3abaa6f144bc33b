#include "models/language/modules.h"

namespace ferry::language {
namespace {

Tensor normalize(Tensor x, const Weights& w, const RmsNorm& norm) {
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(norm.epsilon);
  params.centered = false;
  const Shape width{channels(x)};
  const auto scale = [&] {
    if (!norm.zero_centered) return w("weight", width);
    std::vector<double> values = w.values("weight", width[0]);
    for (double& value : values) value += 1;
    return w.graph().add_constant(w.name() + ".weight", width, std::move(values));
  };
  const Tensor bias = w.graph().add_constant("", width, std::vector<double>(static_cast<size_t>(width[0])));
  return x.graph->add_op(w.name(), params, {x, scale(), bias});
}

}  // namespace

Tensor rms_norm(Tensor x, const Weights& w, const RmsNorm& norm) { return tap(normalize(x, w, norm), w); }

Tensor rms_norm_heads(Tensor x, const Weights& w, const RmsNorm& norm, int heads, bool heads_first) {
  const int width = channels(x);
  x = normalize(reshape(x, {0, 0, heads, width / heads}), w, norm);
  tap(heads_first ? transpose(x, {0, 2, 1, 3}) : x, w.channels_last());  // a blob without this tap does not transpose
  return reshape(x, {0, 0, width});
}

Tensor rows(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

Tensor linear(Tensor x, Tensor weight) { return x.graph->add_op("", fbs::LinearT{}, {x, weight}); }

}  // namespace ferry::language
