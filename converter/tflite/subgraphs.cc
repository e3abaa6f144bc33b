#include "converter/tflite/subgraphs.h"

#include <algorithm>
#include <string_view>

#include "converter/passes/passes.h"

namespace ferry::tflite {
namespace {

// A small file must not be able to request unlimited work: loops of loops, and chains of calls.
constexpr int64_t kMostNested = int64_t{1} << 18;
constexpr size_t kDeepest = 16;

// If all inputs are constants, the operators since `before` become constants.
void fold(Values& values, const Op& op, size_t before) {
  Graph& graph = values.graph();
  if (graph.table.operators.size() == before || !op.known()) return;
  for (size_t i = before; i < graph.table.operators.size(); ++i)
    for (const TensorId output : graph.table.operators[i]->outputs)
      values.count_computed(graph.shape(output).elements());
  fold_added_constants(graph, before);
}

}  // namespace

void add_operator(Values& values, const schema::Operator& operator_, OpFunction function) {
  auto& operators = values.graph().table.operators;
  const size_t before = operators.size();
  Op op(values, operator_);
  function(op);
  for (size_t k = 0; k < op.output_count(); ++k)
    if (!op.is_set(k)) fail("output %zu is not supported", k);
  fold(values, op, before);
  const std::string name = op.output_count() > 0 ? values.file().tensor_name(operator_.outputs()->Get(0)) : "";
  for (size_t k = before; k < operators.size(); ++k)
    if (operators[k]->name.empty()) operators[k]->name = name;
}

std::vector<Passed> run_subgraph(const Op& op, int index, const std::vector<Passed>& inputs) {
  std::vector<int> callers = op.values().callers();
  callers.push_back(op.file().subgraph);
  if (std::find(callers.begin(), callers.end(), index) != callers.end())
    op.refuse("it runs subgraph %d, which runs itself", index);
  if (callers.size() > kDeepest) op.refuse("subgraphs run one another %zu deep, at most %zu", callers.size(), kDeepest);
  const File file = subgraph_of(op.file(), index);
  Shared& shared = op.values().shared();
  shared.nested += int64_t{count(file.graph->operators())} + count(file.graph->tensors());
  if (shared.nested > kMostNested) op.refuse("its subgraphs have too many operators, each counted as often as it runs");
  if (count(file.graph->inputs()) != inputs.size())
    op.refuse("subgraph %d takes %u inputs, not %zu", index, count(file.graph->inputs()), inputs.size());
  Values values(file, shared, std::move(callers));
  for (unsigned i = 0; i < inputs.size(); ++i) values.set_passed(file.graph->inputs()->Get(i), inputs[i]);
  for (unsigned i = 0; i < count(file.graph->operators()); ++i) {
    const schema::Operator& inner = *file.graph->operators()->Get(i);
    std::string why;
    const OpFunction function = find_function(file, inner, &why);
    try {
      if (function == nullptr) fail("%s", why.c_str());
      add_operator(values, inner, function);
    } catch (const Error& error) {
      // Only the innermost one is named.
      if (std::string_view(error.what()).starts_with("in subgraph ")) throw;
      op.refuse("in subgraph %d, operator %u (%s): %s", index, i, file.operator_name(inner).c_str(), error.what());
    }
  }
  std::vector<Passed> outputs;
  for (unsigned i = 0; i < count(file.graph->outputs()); ++i)
    outputs.push_back(values.passed(file.graph->outputs()->Get(i)));
  return outputs;
}

}  // namespace ferry::tflite
