// Tensors of the checkpoint that the graph does not read. A port that leaves out a module leaves its weights unread.
#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect {
namespace {

std::string folder_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}
std::string leaf_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The common stem of "gate_proj" and "gate_norm" is "gate".
std::string stem_of(const std::string& module) {
  const std::string leaf = leaf_of(module);
  return leaf.substr(0, leaf.find('_'));
}

// True if a module in the name is an item of a list: "layers.3".
bool has_number(const std::string& name) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (dot + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[dot + 1])) != 0) return true;
  return false;
}

const CheckpointTensor* find(const Checkpoint& checkpoint, const std::string& key) {
  const auto found = checkpoint.tensors().find(key);
  return found == checkpoint.tensors().end() ? nullptr : &found->second;
}

// ---- norms ----

struct Norm {
  std::string module, weight;
  int size;
};

std::vector<Norm> unread_norms(const Suspect& suspect) {
  std::vector<Norm> out;
  for (const std::string& key : unread_beside(suspect)) {
    const CheckpointTensor& tensor = *find(suspect.checkpoint, key);
    const std::string module = folder_of(key);
    if (leaf_of(key) == "weight" && tensor.shape.size() == 1 && !find(suspect.checkpoint, module + ".bias"))
      out.push_back({module, key, static_cast<int>(tensor.shape[0])});
  }
  return out;
}

struct NormKind {
  float epsilon;
  bool zero_centered;
};

// Root mean square normalization of `tensor` in groups of the norm's size. `width`: its last dimension.
void normalize(Piece& p, size_t at, TensorId tensor, int width, const Norm& norm, Array weight, const NormKind& kind) {
  if (kind.zero_centered)
    for (double& w : weight.values) w += 1;
  Edit edit(p, at);
  const std::vector<double> zeros(weight.values.size());
  const TensorId bias = edit.add_constant(norm.module + ".bias", {.shape = weight.shape, .values = zeros});
  const TensorId scale = edit.add_constant(norm.weight, std::move(weight));
  fbs::LayerNormT params;
  params.centered = false;
  params.epsilon = kind.epsilon;
  TensorId x = edit.detach(tensor);
  fbs::ReshapeT part, whole;
  part.shape = {0, -1, width / norm.size, norm.size};
  whole.shape = {0, -1, width};
  if (width != norm.size) x = edit.add(part, {x});
  x = edit.add(params, {x, scale, bias});
  if (width != norm.size) edit.add(whole, {x});
  edit.attach(tensor);
}

// Variants of a norm that the checkpoint does not determine.
std::vector<NormKind> norm_kinds(const Piece& piece) {
  std::set<float> epsilons{1e-6f, 1e-5f};
  for (const fbs::OperatorT& op : piece.operators)
    if (const auto* norm = op.params.AsLayerNorm()) epsilons.insert(norm->epsilon);
  std::vector<NormKind> out;
  for (const float epsilon : epsilons)
    for (const bool zero_centered : {false, true}) out.push_back({epsilon, zero_centered});
  return out;
}

// A cause that applies a part of the checkpoint that the graph does not read.
Cause left_out(const std::string& what, size_t from, std::function<void(Piece&)> apply) {
  return {.text = what + " of the checkpoint is applied and should not be",
          .repaired = what + " of the checkpoint is left out",
          .from = from,
          .plant = std::move(apply)};
}

// The norm on the operator's output or first input.
void norm_at(const Suspect& suspect, size_t at, size_t from, TensorId tensor, std::vector<Cause>& out) {
  const Array* value = suspect.value(tensor);
  if (value == nullptr || value->shape.rank != 3) return;
  const int width = value->shape[2];
  for (const Norm& norm : unread_norms(suspect)) {
    if (width % norm.size != 0) continue;
    for (const NormKind& kind : norm_kinds(suspect.piece))
      out.push_back(left_out("the norm '" + norm.module + "'", from, [=, checkpoint = &suspect.checkpoint](Piece& p) {
        normalize(p, at, tensor, width, norm, values_in(*checkpoint, norm.weight), kind);
      }));
  }
}

bool is_linear(const fbs::OperatorT& op) { return op.params.type == fbs::OpParams::Linear; }

// Several norms at once, each after the linear operator with the same stem: q_norm after q_proj.
void norms_by_name(const Suspect& suspect, std::vector<Cause>& out) {
  struct NormPosition {
    Norm norm;
    size_t op;
    int width;
  };
  std::vector<NormPosition> positions;
  const Piece& piece = suspect.piece;
  for (const Norm& norm : unread_norms(suspect))
    for (size_t k = 0; k < piece.operators.size(); ++k) {
      const fbs::OperatorT& op = piece.operators[k];
      if (!is_linear(op) || !piece.is_constant(op.inputs[1])) continue;
      const std::string module = folder_of(piece.constants.at(op.inputs[1]));
      const Array* value = suspect.value(op.outputs.front());
      if (folder_of(module) == folder_of(norm.module) && stem_of(module) == stem_of(norm.module) && value != nullptr &&
          value->shape.rank == 3 && value->shape[2] % norm.size == 0)
        positions.push_back({norm, k, value->shape[2]});
    }
  if (positions.size() < 2) return;
  std::sort(positions.begin(), positions.end(),
            [](const NormPosition& a, const NormPosition& b) { return a.op < b.op; });
  std::string text;
  for (const NormPosition& position : positions)
    text += (text.empty() ? "each of the norms '" : "', '") + position.norm.module;
  for (const NormKind& kind : norm_kinds(piece))
    out.push_back(
        left_out(text + "'", positions.front().op, [positions, kind, checkpoint = &suspect.checkpoint](Piece& p) {
          for (auto position = positions.rbegin(); position != positions.rend(); ++position)
            normalize(p, position->op + 1, p.operators[position->op].outputs.front(), position->width, position->norm,
                      values_in(*checkpoint, position->norm.weight), kind);
        }));
}

// ---- shared expert ----

struct Perceptron {
  std::string module, gate;  // `gate`: a linear operator with one output; may be empty
};

// Perceptrons with or without a gate, whose name begins like the perceptron's.
std::vector<Perceptron> unread_perceptrons(const Suspect& suspect) {
  std::vector<Perceptron> out;
  const std::vector<std::string> unread = unread_beside(suspect);
  for (const std::string& key : unread) {
    if (!key.ends_with(".down_proj.weight")) continue;
    const std::string module = folder_of(folder_of(key));
    if (!find(suspect.checkpoint, module + ".gate_proj.weight") ||
        !find(suspect.checkpoint, module + ".up_proj.weight"))
      continue;
    for (const std::string& other : unread)
      if (other.starts_with(module + "_") && find(suspect.checkpoint, other)->shape.front() == 1)
        out.push_back({module, other});
    out.push_back({module, ""});
  }
  return out;
}

void add_perceptron(Piece& p, size_t k, const Perceptron& what, const Checkpoint& checkpoint) {
  const fbs::OperatorT experts = p.operators[k];
  const TensorId x = experts.inputs[0], y = experts.outputs.front();
  Edit edit(p, k + 1);
  const auto product = [&](TensorId of, const std::string& key) {
    return edit.add(fbs::LinearT(), {of, edit.add_constant(key, values_in(checkpoint, key))});
  };
  const auto unary = [&](fbs::UnaryKind kind, TensorId of) {
    fbs::UnaryT params;
    params.kind = kind;
    return edit.add(params, {of});
  };
  const auto binary = [&](fbs::BinaryKind kind, TensorId a, TensorId b) {
    fbs::BinaryT params;
    params.kind = kind;
    return edit.add(params, {a, b});
  };
  const bool gelu = experts.params.AsExperts()->activation == fbs::ExpertsActivation::GeluTanh;
  const TensorId gate = product(x, what.module + ".gate_proj.weight"), up = product(x, what.module + ".up_proj.weight");
  const TensorId gated = unary(gelu ? fbs::UnaryKind::GeluTanh : fbs::UnaryKind::Silu, gate);
  TensorId common = product(binary(fbs::BinaryKind::Mul, gated, up), what.module + ".down_proj.weight");
  if (!what.gate.empty())
    common = binary(fbs::BinaryKind::Mul, common, unary(fbs::UnaryKind::Sigmoid, product(x, what.gate)));
  const TensorId former = edit.detach(y);
  binary(fbs::BinaryKind::Add, former, common);
  edit.attach(y);
}

// ---- weights ----

void exchanged_weights(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const TensorId weight = suspect.piece.operators[k].inputs[1];
  if (!suspect.piece.is_constant(weight)) return;
  const std::string& own = suspect.piece.constants.at(weight);
  const Shape& shape = suspect.piece.known.at(weight).shape;
  for (const auto& [key, tensor] : suspect.checkpoint.tensors()) {
    const bool fits =
        tensor.shape.size() == 2 && shape.rank == 2 && tensor.shape[0] == shape[0] && tensor.shape[1] == shape[1];
    // Candidates from the same layer, and from no layer.
    const bool near = folder_of(folder_of(key)) == folder_of(folder_of(own)) || !has_number(key);
    if (!fits || !near || key == own) continue;
    const auto text = [&](const std::string& wrong, const std::string& right) {
      const auto called = [&](const std::string& name) {
        return (suspect.embeddings.contains(name) ? "the embedding '" : "'") + name + "'";
      };
      const bool tied = suspect.embeddings.contains(wrong) || suspect.embeddings.contains(right);
      return std::string("the weight is ") + called(wrong) + " instead of " + called(right) +
             (!tied                                ? ""
              : suspect.embeddings.contains(right) ? ": the head should be tied to it"
                                                   : ": the head should not be tied to it");
    };
    out.push_back({.text = text(key, own),
                   .repaired = text(own, key),
                   .from = k,
                   .plant = [weight, key = key, checkpoint = &suspect.checkpoint](Piece& p) {
                     p.known.at(weight).values = values_in(*checkpoint, key).values;
                   }});
  }
}

void left_out_bias(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& op = suspect.piece.operators[k];
  if (op.inputs.size() > 2 || !suspect.piece.is_constant(op.inputs[1])) return;
  const std::string key = folder_of(suspect.piece.constants.at(op.inputs[1])) + ".bias";
  const CheckpointTensor* bias = find(suspect.checkpoint, key);
  if (bias == nullptr || suspect.read.contains(key) || bias->shape.size() != 1 ||
      bias->shape[0] != suspect.piece.known.at(op.inputs[1]).shape[0])
    return;
  out.push_back(left_out("the bias '" + key + "'", k, [k, key, checkpoint = &suspect.checkpoint](Piece& p) {
    p.operators[k].inputs.push_back(Edit(p, k).add_constant(key, values_in(*checkpoint, key)));
  }));
}

void left_out_sinks(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const fbs::AttentionT& a = *suspect.piece.operators[k].params.AsAttention();
  if (a.sinks) return;
  for (const std::string& key : unread_beside(suspect)) {
    const CheckpointTensor& tensor = *find(suspect.checkpoint, key);
    if (tensor.shape.size() != 1 || tensor.shape[0] != a.heads) continue;
    out.push_back(left_out("attention's sink, '" + key + "'", k, [k, key, checkpoint = &suspect.checkpoint](Piece& p) {
      p.operators[k].inputs.push_back(Edit(p, k).add_constant(key, values_in(*checkpoint, key)));
      p.operators[k].params.AsAttention()->sinks = true;
    }));
  }
}

}  // namespace

std::vector<std::string> unread_beside(const Suspect& suspect) {
  std::set<std::string> folders;
  for (const auto& [tensor, name] : suspect.piece.constants)
    for (const std::string& folder : {folder_of(name), folder_of(folder_of(name))})
      if (!folder.empty()) folders.insert(folder);
  std::vector<std::string> out;
  for (const auto& [key, tensor] : suspect.checkpoint.tensors()) {
    if (tensor.shape.empty() || suspect.read.contains(key)) continue;
    std::string folder = folder_of(key);
    for (int up = 0; up < 2 && !folders.contains(folder); ++up) folder = folder_of(folder);
    // An item of a list may be read as a part of a stacked tensor.
    if (folders.contains(folder) && !has_number(key.substr(folder.size()))) out.push_back(key);
  }
  return out;
}

Array values_in(const Checkpoint& checkpoint, const std::string& key) {
  const CheckpointTensor& tensor = checkpoint.tensors().at(key);
  Array out;
  for (const int64_t d : tensor.shape) out.shape[out.shape.rank++] = static_cast<int32_t>(d);
  out.values = tensor.to_doubles();
  return out;
}

void unread_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const Piece& piece = suspect.piece;
  const fbs::OperatorT& op = piece.operators[k];
  if (k == 0) norms_by_name(suspect, out);
  // Inputs of the piece have no operator; the norm goes before their first reader.
  for (const TensorId input : op.inputs) {
    const auto reads = [input](const fbs::OperatorT& o) {
      return std::count(o.inputs.begin(), o.inputs.end(), input) > 0;
    };
    const auto before = piece.operators.begin() + static_cast<std::ptrdiff_t>(k);
    if (piece.known.contains(input) && !piece.is_constant(input) &&
        std::none_of(piece.operators.begin(), before, reads))
      norm_at(suspect, k, k, input, out);
  }
  if (op.params.type == fbs::OpParams::Attention) left_out_sinks(suspect, k, out);
  if (op.params.type == fbs::OpParams::Experts)
    for (const Perceptron& perceptron : unread_perceptrons(suspect))
      out.push_back(left_out("the shared expert, '" + perceptron.module + "'" +
                                 (perceptron.gate.empty() ? "" : " with its gate '" + perceptron.gate + "'"),
                             k, [k, perceptron, checkpoint = &suspect.checkpoint](Piece& p) {
                               add_perceptron(p, k, perceptron, *checkpoint);
                             }));
  if (!is_linear(op)) return;
  norm_at(suspect, k + 1, k, op.outputs.front(), out);
  exchanged_weights(suspect, k, out);
  left_out_bias(suspect, k, out);
}

}  // namespace ferry::bisect
