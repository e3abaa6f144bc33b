#include "cli/bisect/region.h"

#include <algorithm>

#include "cli/bisect/bisect.h"
#include "sdk/operators/operators.h"

namespace ferry::bisect {
namespace {

// All tensors that `values` depend on, including themselves.
std::set<TensorId> before(const Source& graph, const std::set<TensorId>& values) {
  const PerTensor<int> producers = graph.producers();
  std::set<TensorId> out;
  std::vector<TensorId> open(values.begin(), values.end());
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    if (!out.insert(tensor).second || producers[tensor] < 0) continue;
    const auto& inputs = graph.model->operators[static_cast<size_t>(producers[tensor])]->inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return out;
}

}  // namespace

std::string operator_text(const fbs::OperatorT& op, const fbs::GraphT& graph) {
  std::string out = op_name(op.params.type);
  fbs::OpParamsUnion params = op.params;
  if (const auto* unary = params.AsUnary()) out += std::string(" ") + fbs::EnumNameUnaryKind(unary->kind);
  if (const auto* binary = params.AsBinary()) out += std::string(" ") + fbs::EnumNameBinaryKind(binary->kind);
  if (const auto* resize = params.AsResize2d()) out += std::string(" ") + fbs::EnumNameResizeKind(resize->kind);
  const std::string name = name_of(op, graph);
  const bool next = op.name.empty() && name.starts_with("before ");
  if (name.empty()) return out;
  return next ? out + ", before '" + name.substr(7) + "'" : out + " '" + name + "'";
}

Region region_of(const Piece& piece, const Source& graph, const std::map<TensorId, std::string>& names,
                 const std::set<TensorId>& right) {
  Region out;
  for (const auto& [tensor, value] : piece.known)
    if (!piece.is_constant(tensor)) {
      const auto name = names.find(tensor);
      out.from.push_back(name != names.end() ? name->second : graph.model->tensors[index_of(tensor)]->name);
    }
  const std::set<TensorId> cleared = before(graph, right);
  for (size_t k = 0; k < piece.operators.size(); ++k) {
    const std::vector<TensorId>& outputs = piece.operators[k].outputs;
    if (std::all_of(outputs.begin(), outputs.end(), [&](TensorId tensor) { return cleared.contains(tensor); }))
      continue;
    out.operators.push_back(operator_text(piece.operators[k], *graph.model));
    out.places.push_back(k);
  }
  return out;
}

}  // namespace ferry::bisect
