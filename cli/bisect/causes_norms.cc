#include <algorithm>
#include <cmath>

#include "cli/bisect/causes.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect {
namespace {

constexpr double kEpsilons[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 0};

std::string epsilon_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

fbs::BinaryKind kind_of(const fbs::OperatorT& op) { return op.params.AsBinary()->kind; }

// The constant operand of the operator; None if it has none.
TensorId constant_of(const Piece& piece, const fbs::OperatorT& op) {
  if (op.params.type != fbs::OpParams::Binary) return TensorId::None;
  for (TensorId input : op.inputs)
    if (piece.is_constant(input)) return input;
  return TensorId::None;
}

// A module's statistics in the checkpoint; empty if it has none.
std::vector<double> statistic(const Checkpoint& checkpoint, const std::string& name, size_t count) {
  const auto found = checkpoint.tensors().find(name);
  if (found == checkpoint.tensors().end() || static_cast<size_t>(found->second.elements()) != count) return {};
  return found->second.to_doubles();
}

// A batch norm's operators and constants in the piece. One of the two may be outside; None marks it.
struct BatchNorm {
  std::string module;
  TensorId scale = TensorId::None, shift = TensorId::None;
};

// The batch norm whose first operator in the piece is number `k`.
BatchNorm batch_norm_at(const Piece& piece, size_t k) {
  BatchNorm out;
  const TensorId constant = constant_of(piece, piece.operators[k]);
  if (constant == TensorId::None) return out;
  const std::string& name = piece.constants.at(constant);
  const bool scale = name.ends_with(".scale");
  if (!scale && !name.ends_with(".shift")) return out;
  const std::string module = name.substr(0, name.size() - 6);
  for (const auto& [tensor, other] : piece.constants) {
    if (other == module + ".scale") out.scale = tensor;
    if (other == module + ".shift") out.shift = tensor;
  }
  if (scale || out.scale == TensorId::None) out.module = module;
  return out;
}

void batch_norm_causes(const Piece& piece, size_t k, const Checkpoint& checkpoint, std::vector<Cause>& out) {
  const BatchNorm norm = batch_norm_at(piece, k);
  if (norm.module.empty()) return;
  const std::vector<double>& known = piece.known.at(norm.scale != TensorId::None ? norm.scale : norm.shift).values;
  const size_t count = known.size();
  const auto of = [&](const char* leaf) { return statistic(checkpoint, norm.module + leaf, count); };
  const std::vector<double> mean = of(".running_mean"), variance = of(".running_var");
  std::vector<double> weight = of(".weight"), bias = of(".bias");
  if (mean.empty() || variance.empty()) return;
  if (weight.empty()) weight.assign(count, 1.0);
  if (bias.empty()) bias.assign(count, 0.0);
  const auto scale_for = [&](double epsilon) {
    return [&weight, &variance, epsilon](size_t c) { return weight[c] / std::sqrt(variance[c] + epsilon); };
  };
  // Infers the epsilon that the graph was built with from its folded constants.
  double right = 0, minimum = HUGE_VAL;
  for (double e : kEpsilons) {
    double error = 0;
    for (size_t c = 0; c < count; ++c) {
      const double scale = scale_for(e)(c);
      error += std::fabs((norm.scale != TensorId::None ? scale : bias[c] - mean[c] * scale) - known[c]);
    }
    if (error < minimum) minimum = error, right = e;
  }
  const auto plant = [&](const auto& factor, double means, double biases) {
    std::vector<double> scales(count), shifts(count);
    for (size_t c = 0; c < count; ++c) {
      scales[c] = factor(c);
      shifts[c] = biases * bias[c] - means * mean[c] * scales[c];
    }
    return [=](Piece& p) {
      if (norm.scale != TensorId::None) p.known.at(norm.scale).values = scales;
      if (norm.shift != TensorId::None) p.known.at(norm.shift).values = shifts;
    };
  };
  const auto cause = [&](const char* text, const char* now, const char* other, const auto& factor, double means,
                         double biases) {
    out.push_back({std::string("batch norm") + text, blob_has(std::string("batch norm") + now, other), k,
                   plant(factor, means, biases)});
  };
  const auto scale = scale_for(right);
  for (double e : kEpsilons)
    if (e != right)
      out.push_back(
          exchanged("batch norm's epsilon", epsilon_text(right), epsilon_text(e), k, plant(scale_for(e), 1, 1)));
  cause("'s running mean is not subtracted", "'s running mean subtracted", "does not subtract it", scale, 0, 1);
  cause("'s bias is missing", "'s bias", "none", scale, 1, 0);
  cause(
      "'s weight is missing", "'s weight", "none", [&](size_t c) { return scale(c) / weight[c]; }, 1, 1);
  cause(
      "'s running variance is left out", "'s running variance applied", "leaves it out",
      [&](size_t c) { return weight[c]; }, 1, 1);
  cause(
      " divides by the variance, not by its root", " divided by the root of the variance", "by the variance itself",
      [&](size_t c) { return scale(c) * scale(c) / weight[c]; }, 1, 1);
  cause(
      "'s scale is applied twice (folded, and applied again)", "'s scale applied once", "applies it twice",
      [&](size_t c) { return scale(c) * scale(c); }, 1, 1);
}

// A multiplication by, or an addition of, a constant that may have been lost.
void constant_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& op = piece.operators[k];
  const TensorId constant = constant_of(piece, op);
  if (constant == TensorId::None) return;
  const fbs::BinaryKind kind = kind_of(op);
  const bool divides = kind == fbs::BinaryKind::Div, scales = kind == fbs::BinaryKind::Mul || divides;
  if (!scales && kind != fbs::BinaryKind::Add && kind != fbs::BinaryKind::Sub) return;
  const auto cause = [&](const std::string& what, const char* text, const char* now, const char* other,
                         double (*map)(double)) {
    out.push_back({what + text, blob_has(what + now, other), k, [=](Piece& p) {
                     for (double& v : p.known.at(constant).values) v = map(v);
                   }});
  };
  if (scales) {
    const std::string scale = "the scale (LayerScale, or a norm's)";
    cause(scale, " is dropped", "", "none", [](double) { return 1.0; });
    cause(scale, " is applied twice", " applied once", "applies it twice", [](double v) { return v * v; });
    if (divides)
      cause(scale, " multiplies and should divide", " as a divisor", "as a factor", [](double v) { return 1 / v; });
    else
      cause(scale, " divides and should multiply", " as a factor", "as a divisor", [](double v) { return 1 / v; });
  } else {
    const std::string shift = "the shift (a bias, or a position embedding)";
    cause(shift, " is dropped", "", "none", [](double) { return 0.0; });
    cause(shift, " is added twice", " added once", "adds it twice", [](double v) { return 2 * v; });
    cause(shift, " has the wrong sign", " with one sign", "with the other", [](double v) { return -v; });
  }
}

// A weight may be stored as its difference from 1.
void zero_centered_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  const TensorId weight = piece.operators[k].inputs[1];
  if (!piece.is_constant(weight)) return;
  constexpr const char* kPlain = "the norm's weight is used as stored, but it is stored minus 1 (zero-centred: add 1)";
  constexpr const char* kCentered = "1 is added to the norm's weight, which should be used as stored";
  for (const auto& [by, text, repaired] : {std::tuple{-1.0, kPlain, kCentered}, {1.0, kCentered, kPlain}})
    out.push_back({text, repaired, k, [weight, by = by](Piece& p) {
                     for (double& v : p.known.at(weight).values) v += by;
                   }});
}

float* epsilon_of(fbs::OperatorT& op) {
  if (auto* p = op.params.AsLayerNorm()) return &p->epsilon;
  if (auto* p = op.params.AsGroupNorm()) return &p->epsilon;
  if (auto* p = op.params.AsGrn()) return &p->epsilon;
  return nullptr;
}

}  // namespace

void norm_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const Piece& piece = suspect.piece;
  batch_norm_causes(piece, k, suspect.checkpoint, out);
  constant_causes(piece, k, out);
  fbs::OperatorT op = piece.operators[k];
  const float* epsilon = epsilon_of(op);
  if (epsilon == nullptr) return;
  const auto now = static_cast<double>(*epsilon);
  for (double e : kEpsilons)
    if (static_cast<float>(e) != *epsilon)
      out.push_back(exchanged("the norm's epsilon", epsilon_text(now), epsilon_text(e), k,
                              [=](Piece& p) { *epsilon_of(p.operators[k]) = static_cast<float>(e); }));
  zero_centered_causes(piece, k, out);
  for (const auto& [place, value, what] :
       {std::tuple{size_t{1}, 1.0, "the norm's weight"}, {size_t{2}, 0.0, "the norm's bias"}})
    if (const TensorId tensor = op.inputs[place]; piece.is_constant(tensor))
      out.push_back({std::string(what) + " is missing", blob_has(what, "none"), k, [tensor, v = value](Piece& p) {
                       auto& values = p.known.at(tensor).values;
                       std::fill(values.begin(), values.end(), v);
                     }});
  if (const auto* group = op.params.AsGroupNorm())
    for (int groups : {1, 2, 4, 8, 16, 32, 64})
      if (groups != group->groups)
        out.push_back(exchanged("the norm's number of groups", std::to_string(group->groups), std::to_string(groups), k,
                                [=](Piece& p) { p.operators[k].params.AsGroupNorm()->groups = groups; }));
}

}  // namespace ferry::bisect
