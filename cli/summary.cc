#include "cli/summary.h"

#include <filesystem>

#include "cli/sdk.h"
#include "sdk/graph/shape_rules.h"
#include "sdk/model/dtype.h"

namespace ferry::cli {
namespace {

uint64_t elements(const Model& model, int tensor) { return static_cast<uint64_t>(model.shape(tensor).elements()); }

// Every output element of a convolution or a linear is a dot product with one row of its weight; of a transposed
// convolution, every input element of its group is multiplied with one.
uint64_t macs_of(const Model& model, const fbs::Operator& op) {
  if (!has_weight(op.params_type())) return 0;
  const Shape weight = model.shape(op.inputs()->Get(1));
  if (const fbs::ConvTranspose2d* p = op.params_as_ConvTranspose2d())
    return elements(model, op.inputs()->Get(0)) * static_cast<uint64_t>(weight.elements() / weight[3] / p->groups());
  return elements(model, op.outputs()->Get(0)) * static_cast<uint64_t>(weight.elements() / weight[0]);
}

}  // namespace

Summary summarize(const std::string& path) {
  Summary s;
  check(Model::open(path.c_str(), &s.model));
  const Model& model = *s.model;
  const fbs::Graph& graph = model.graph();
  s.file_bytes = std::filesystem::file_size(path);
  for (const fbs::Buffer* buffer : *graph.buffers()) s.weight_bytes += buffer->size();
  for (int i = 0; i < static_cast<int>(graph.tensors()->size()); ++i) {
    if (model.is_constant(i)) {
      s.parameters += elements(model, i);
    } else {
      s.activation_bytes += elements(model, i) * dtype_size(model.tensor(i).dtype());
    }
  }
  for (const fbs::Operator* op : *graph.operators()) {
    OpSummary o;
    o.name = op->name() ? op->name()->str() : "";
    o.op = op_name(op->params_type());
    o.output = model.shape(op->outputs()->Get(0));
    o.macs = macs_of(model, *op);
    for (int32_t input : *op->inputs()) {
      if (model.is_constant(input)) o.parameters += elements(model, input);
    }
    s.macs += o.macs;
    ++s.histogram[o.op];
    s.ops.push_back(std::move(o));
  }
  return s;
}

}  // namespace ferry::cli
