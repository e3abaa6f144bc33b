// Variables, which keep values between runs (converter/tflite/variables.h).
#include <algorithm>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

std::string name_of(const Op& op) {
  const auto& o = op.options<schema::VarHandleOptions>();
  const std::string name = o.shared_name() != nullptr ? o.shared_name()->str() : "";
  return name.empty() ? "variable" : name;
}

bool is_zero(const File& file, int tensor) {
  Graph scratch;
  const std::vector<double> values = scratch.values(add_constant(scratch, file, tensor, Half::Widen).id);
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

}  // namespace

void var_handle(Op& op) { op.set_handle(name_of(op)); }

void read_variable(Op& op) { op.set(op.variables().read(op.variable(0), op.output_shape(0))); }

void assign_variable(Op& op) {
  const Tensor value = op.tensor(1);
  if (value.dtype() != fbs::DType::Float32) op.refuse("its value is integers without a scale");
  op.variables().assign(op.variable(0), value);
}

// The subgraph that runs before the first run may assign constants.
void call_once(Op& op) {
  const File file = subgraph_of(op.file(), op.options<schema::CallOnceOptions>().init_subgraph_index());
  Graph graph;
  Shared shared(graph);
  Values values(file, shared);
  const auto* operators = file.graph->operators();
  for (unsigned i = 0; i < count(operators); ++i) {
    const schema::Operator& inner = *operators->Get(i);
    const Op at(values, inner);
    switch (file.builtin(inner)) {
      case schema::BuiltinOperator::VAR_HANDLE: at.set_handle(name_of(at)); break;
      case schema::BuiltinOperator::ASSIGN_VARIABLE: {
        if (!at.is_constant(1)) op.refuse("its subgraph assigns what it computes");
        if (!is_zero(file, inner.inputs()->Get(1))) op.variables().set_initial(at.variable(0));
        break;
      }
      default: op.refuse("its subgraph has a %s", file.operator_name(inner).c_str());
    }
  }
}

}  // namespace ferry::tflite
