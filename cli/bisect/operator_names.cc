#include <algorithm>

#include "cli/bisect/bisect.h"

namespace ferry::bisect {

std::string name_of(const fbs::OperatorT& op, const fbs::GraphT& graph) {
  if (!op.name.empty()) return op.name;
  // An operator without a module is named after its output, or after the table that it reads.
  const auto tensor = [&](TensorId id) -> const fbs::TensorT& { return *graph.tensors[index_of(id)]; };
  if (const std::string& name = tensor(op.outputs.front()).name; !name.empty()) return name;
  for (TensorId input : op.inputs)
    if (tensor(input).buffer != 0 && !tensor(input).name.empty()) return tensor(input).name;
  // Otherwise after the next operator that has one.
  const auto same = [&](const auto& other) { return other->outputs.front() == op.outputs.front(); };
  for (auto next = std::find_if(graph.operators.begin(), graph.operators.end(), same); next != graph.operators.end();
       ++next)
    if (!(*next)->name.empty()) return "before " + (*next)->name;
  return {};
}

}  // namespace ferry::bisect
