#include "models/language/modules.h"

#include <cmath>

#include "converter/error.h"

namespace ferry::language {
namespace {

Tensor normalize(Tensor x, const std::string& name, double epsilon, Tensor weight) {
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(epsilon);
  params.centered = false;
  const Shape width{channels(x)};
  const Tensor bias = x.graph->add_constant("", width, std::vector<double>(static_cast<size_t>(width[0])));
  return x.graph->add_op(name, params, {x, weight, bias});
}

Tensor normalize(Tensor x, const Weights& w, const RmsNorm& norm) {
  const Shape width{channels(x)};
  const auto scale = [&] {
    if (!norm.zero_centered) return w("weight", width);
    std::vector<double> values = w.values("weight", width[0]);
    for (double& value : values) value += 1;
    return w.graph().add_constant(w.name() + ".weight", width, std::move(values));
  };
  return normalize(x, w.name(), norm.epsilon, scale());
}

}  // namespace

Tensor rms_norm(Tensor x, const Weights& w, const RmsNorm& norm) { return tap(normalize(x, w, norm), w); }

Tensor rms_norm_heads(Tensor x, const Weights& w, const RmsNorm& norm, int heads, bool heads_first) {
  const int width = channels(x);
  x = normalize(reshape(x, {0, 0, heads, width / heads}), w, norm);
  tap(heads_first ? transpose(x, {0, 2, 1, 3}) : x, w.channels_last());  // blobs without this tap do not transpose
  return reshape(x, {0, 0, width});
}

Tensor gated_rms_norm(Tensor x, Tensor gate, const Weights& w, const RmsNorm& norm) {
  return tap(normalize(x, w, norm) * silu(gate), w);
}

// RMSNorm computes the mean of D squares; the L2 norm needs their sum.
Tensor l2_norm_heads(Tensor x, int heads, double scale) {
  const int width = channels(x), size = width / heads;
  const std::vector<double> weight(static_cast<size_t>(size), scale / std::sqrt(size));
  const Tensor each = reshape(x, {0, 0, heads, size});
  const Tensor out = normalize(each, "", 1e-6 / size, x.graph->add_constant("", Shape{size}, weight));
  return reshape(out, {0, 0, width});
}

Tensor rows(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

Tensor linear(Tensor x, Tensor weight) { return x.graph->add_op("", fbs::LinearT{}, {x, weight}); }

Tensor sum_first(Tensor x) {
  fbs::ReduceT params;
  params.kind = fbs::ReduceKind::Sum;
  params.axes = {0};
  return x.graph->add_op("", std::move(params), {x});
}

Tensor (*activation_of(const Configuration& s, const char* setting, const char* absent))(Tensor) {
  static constexpr struct {
    const char* name;
    Tensor (*function)(Tensor);
  } kKnown[] = {{"silu", silu}, {"swish", silu}, {"gelu", gelu}, {"gelu_pytorch_tanh", gelu_tanh}};
  const std::string activation = s.text(setting, absent);
  for (const auto& known : kKnown)
    if (activation == known.name) return known.function;
  fail("%s: %s is '%s', expected silu, gelu or gelu_pytorch_tanh", s.where(), setting, activation.c_str());
}

}  // namespace ferry::language
