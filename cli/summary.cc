#include "cli/summary.h"

#include <filesystem>

#include "cli/sdk.h"
#include "sdk/model/dtype.h"
#include "sdk/operators/operators.h"

namespace ferry::cli {
namespace {

uint64_t elements(const Model& model, int tensor) { return static_cast<uint64_t>(model.shape(tensor).elements()); }

}  // namespace

// Every output element of a convolution or a linear is a dot product with one row of its weight; of a transposed
// convolution, every input element of its group is multiplied with one.
uint64_t macs_of(const fbs::Operator& op, const std::function<Shape(int)>& shape_of) {
  if (!has_weight(op.params_type())) return 0;
  const Shape weight = shape_of(op.inputs()->Get(1));
  const fbs::ConvTranspose2d* p = op.params_as_ConvTranspose2d();
  const int64_t macs = p != nullptr
                           ? shape_of(op.inputs()->Get(0)).elements() * (weight.elements() / weight[3] / p->groups())
                           : shape_of(op.outputs()->Get(0)).elements() * (weight.elements() / weight[0]);
  return static_cast<uint64_t>(macs);
}

Summary summarize(const std::string& path, const std::string& name) {
  Summary s;
  std::shared_ptr<Model> first;
  check(Model::open(path.c_str(), &first));
  size_t index = 0;
  if (!name.empty()) check(first->find_graph(name.c_str(), &index));
  check(first->open_graph(index, &s.model));
  const Model& model = *s.model;
  const fbs::Graph& graph = model.graph();
  s.file_bytes = std::filesystem::file_size(path);
  for (const fbs::Buffer* buffer : *model.root().buffers()) s.weight_bytes += buffer->size();
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
    o.macs = macs_of(*op, [&](int tensor) { return model.shape(tensor); });
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
