#include "cli/summary.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/sdk.h"
#include "converter/graph/macs.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/type.h"
#include "sdk/operators/type_rules.h"

namespace ferry::cli {
namespace {

uint64_t elements(const Model& model, TensorId tensor) { return static_cast<uint64_t>(model.shape(tensor).elements()); }

void count_stored(const Model& model, TensorId tensor, std::vector<StoredSummary>* stored) {
  const Type type = type_of(model.tensor(tensor));
  const std::string name = to_string(type);
  auto at = std::find_if(stored->begin(), stored->end(), [&](const StoredSummary& s) { return s.type == name; });
  if (at == stored->end()) at = stored->insert(at, {name});
  at->elements += elements(model, tensor);
  at->bytes += model.constant(tensor).size();
  if (type.float_scale == 0) at->bytes += model.stored(tensor).scales.size();
}

}  // namespace

std::string tensor_text(const Model& model, TensorId tensor) {
  return to_string(type_of(model.tensor(tensor))) + " " + to_string(model.shape(tensor));
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
  PerTensor<bool> scale(graph.tensors()->size());
  for (const fbs::Tensor* tensor : *graph.tensors())
    if (const Type type = type_of(*tensor); type.quantized && type.float_scale == 0) scale[type.scale] = true;
  std::set<uint32_t> buffers;
  for (const TensorId t : model.tensors()) {
    if (scale[t]) continue;
    if (model.is_constant(t)) {
      if (!buffers.insert(model.tensor(t).buffer()).second) continue;  // tied to a tensor that was counted
      s.parameters += elements(model, t);
      count_stored(model, t, &s.stored);
    } else {
      s.activation_bytes += bytes_of(model.tensor(t).dtype(), model.shape(t).elements());
    }
  }
  std::stable_sort(s.stored.begin(), s.stored.end(),
                   [](const StoredSummary& a, const StoredSummary& b) { return a.bytes > b.bytes; });
  MacCounter counter;
  for (const fbs::Operator* op : *graph.operators()) {
    OpSummary o;
    o.name = op->name() ? op->name()->str() : "";
    o.op = op_name(op->params_type());
    o.output = model.shape(output_of(*op));
    o.macs = counter.count(*op, [&](TensorId tensor) { return model.shape(tensor); });
    for (TensorId input : *op->inputs()) {
      if (model.is_constant(input)) o.parameters += elements(model, input);
    }
    s.macs += o.macs;
    ++s.histogram[o.op];
    s.ops.push_back(std::move(o));
  }
  return s;
}

}  // namespace ferry::cli
