// Constants that follow from open sizes, computed by a run: open_values.h.
#include <numeric>
#include <set>

#include "converter/onnx/import.h"
#include "converter/onnx/versions.h"

namespace ferry::onnx {
namespace {

// Whether the operators from `first` on compute a value of constants alone.
bool folds(Tensor value, size_t first) {
  const auto& operators = value.graph->table.operators;
  std::set<TensorId> computed;
  for (size_t i = first; i < operators.size(); ++i) {
    for (const TensorId input : operators[i]->inputs)
      if (!value.graph->is_constant(input) && !computed.contains(input)) return false;
    computed.insert(operators[i]->outputs.begin(), operators[i]->outputs.end());
  }
  return computed.contains(value.id) || value.graph->is_constant(value.id);
}

}  // namespace

Tensor Importer::add_table(const Array& array) {
  Shape shape;
  for (const int32_t d : to_int32(array.dims)) shape[shape.rank++] = d;
  const std::string name = "ferry:table " + std::to_string(tables_.size());
  tables_[name] = array;
  return graph_->add_input(name, shape, fbs::Layout::Same, to_dtype(array.type));
}

// The last of 1, 2... up to the size.
Tensor Importer::add_size(const Array& size) {
  std::vector<double> values(static_cast<size_t>(size.floats().at(0)));
  std::iota(values.begin(), values.end(), 1.0);
  const auto count = static_cast<int64_t>(values.size());
  const Tensor table = add_table(make_array(size.type, {count}, values));
  return reshape_to(slice(table, 0, static_cast<int>(count - 1), 1), size.dims);
}

// Tells a node's function that sizes are open.
void Importer::set_open(Op* op) {
  op->set_open_sizes([this](const Array& array) { return add_table(array); });
}

// Lets functions that ask for a tensor get these inputs as a run computes them.
void Importer::open_inputs(Op* op, Opened opened) {
  const OpenValues& values = *options_.open_values;
  for (size_t i = 0; i < op->node().inputs.size(); ++i) {
    const std::string& name = op->node().inputs[i];
    if (!op->known(i) || counted_[name].any()) continue;
    const OpenValues::Kind kind = values.kind_of(name);
    const bool stays =
        kind == OpenValues::Kind::Same || (kind == OpenValues::Kind::Table && opened == Opened::WithoutTables);
    if (opened == Opened::Everything || !stays)
      op->compute_in_run(
          i, [&values, name] { return values.varying(name); }, [this, name] { return compute_in_run(name); });
  }
}

// The outputs of a node whose inputs are known, as a run computes them.
std::vector<Value> Importer::outputs_in_run(const Node& node, Opened opened) {
  std::vector<Value> inputs;
  std::vector<Type> types;
  for (const std::string& input : node.inputs) {
    inputs.push_back(input.empty() ? Value() : values_.at(input));
    const Array* known = std::get_if<Array>(&inputs.back());
    types.push_back(known ? known->type : types_[input]);
  }
  const OpsetRow* row = find_opset_row(node);
  Node adapted = node;
  Op op(adapted, *graph_, std::move(inputs), std::move(types));
  set_open(&op);
  open_inputs(&op, opened);
  if (row && row->adapt) row->adapt(op, &adapted);
  find_op(node)(op);
  return op.outputs();
}

Tensor Importer::compute_in_run(const std::string& name) {
  if (const auto found = in_run_.find(name); found != in_run_.end()) return found->second;
  const Array array = std::get<Array>(values_.at(name));
  const auto compute = [&] {
    const OpenValues::Kind kind = options_.open_values->kind_of(name);
    if (kind == OpenValues::Kind::Size) return add_size(array);
    if (kind == OpenValues::Kind::Same || kind == OpenValues::Kind::Table) return add_table(array);
    const auto [producer, output] = producers_[name];
    if (!producer || !find_op(*producer)) fail("'%s' depends on an open size", name.c_str());  // of a body
    if (producer->op == "Shape") {
      std::vector<Tensor> sizes;
      for (const int64_t size : array.ints()) sizes.push_back(add_size(make_vector({size})));
      return sizes.size() == 1 ? sizes[0] : concat(sizes, 0);
    }
    try {
      // Where sizes are parameters only, of a resize, constants must not be folded either.
      for (const Opened opened : {Opened::WithTables, Opened::Everything}) {
        const size_t before = graph_->table.operators.size();
        const Value value = outputs_in_run(*producer, opened)[output];
        const Tensor* tensor = std::get_if<Tensor>(&value);
        if (tensor && !folds(*tensor, before)) return *tensor;
      }
    } catch (const Error& error) {
      fail("'%s', which follows from an open size: %s", name.c_str(), error.what());
    }
    fail("'%s' depends on an open size", name.c_str());
  };
  const Tensor computed = compute();
  if (loops_ == 0) in_run_[name] = computed;
  return computed;
}

}  // namespace ferry::onnx
