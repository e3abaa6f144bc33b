#include "converter/tflite/importer.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "converter/passes/passes.h"
#include "converter/tflite/operators.h"

namespace ferry::tflite {
namespace {

class Importer {
 public:
  Importer(const File& file, const ImportOptions& options)
      : file_(file), options_(options), graph_(std::make_unique<Graph>()), values_(file, *graph_) {}

  Imported import() {
    // Operators that run other subgraphs say so themselves.
    if (const unsigned graphs = count(file_.model->subgraphs()); graphs > 1 && count(file_.model->signature_defs()) > 1)
      notes_.push_back("the first of the file's " + std::to_string(graphs) + " networks is converted");
    name_ports();
    for (unsigned i = 0; i < count(file_.graph->inputs()); ++i) add_input(i);
    for (unsigned i = 0; i < count(file_.graph->operators()); ++i) add_operator(i);
    for (unsigned i = 0; i < count(file_.graph->outputs()); ++i) add_output(i);
    values_.variables().add_outputs(&notes_);
    if (reasons_.empty() && graph_->table.outputs.empty())
      reasons_.push_back({"", "", 0, "no output depends on an input: nothing is left to run"});
    if (!reasons_.empty()) throw Refused(file_.name(), std::move(reasons_));
    if (dequantised_ > 0)
      notes_.push_back("8-bit weights of " + std::to_string(dequantised_) +
                       (dequantised_ == 1 ? " operator" : " operators") +
                       " with float activations are computed with as float32, while TensorFlow Lite also rounds the "
                       "activations to 8 bits");
    return {std::move(graph_), std::move(notes_), values_.detection_head()};
  }

 private:
  void name_ports();
  void add_input(unsigned i);
  void add_operator(unsigned i);
  void add_output(unsigned i);
  void fold(const Op& op, size_t before);
  void note_port(const char* kind, const std::string& name, const schema::Tensor& tensor);
  bool reads_quantised_weights(const schema::Operator& op) const;

  void give_reason(unsigned i, const std::string& what) {
    const schema::Operator& op = *file_.graph->operators()->Get(i);
    Reason reason = {file_.operator_name(op), std::to_string(i), file_.code(op).version(), what};
    reason.by_index = true;
    reasons_.push_back(std::move(reason));
  }
  // Operators write some outputs only if they are imported; those of refused ones have no value.
  bool all_inputs_known(const schema::Operator& op) const {
    const auto* inputs = op.inputs();
    for (unsigned k = 0; k < count(inputs); ++k)
      if (const int i = inputs->Get(k);
          i >= 0 && !values_.has(i) && !values_.is_variable(i) && !has_no_elements(file_.tensor(i)))
        return false;
    return true;
  }

  const File& file_;
  const ImportOptions& options_;
  std::unique_ptr<Graph> graph_;
  Values values_;
  std::vector<std::string> input_names_, output_names_;
  std::set<std::string> tap_names_;
  std::vector<Reason> reasons_;
  std::vector<std::string> notes_;
  int dequantised_ = 0;  // operators whose weights are integers with scales
};

// Names of ports: unique, since commands address tensors by them.
void set_names(const File& file, const flatbuffers::Vector<int32_t>* tensors,
               const flatbuffers::Vector<flatbuffers::Offset<schema::TensorMap>>* signature,
               std::vector<std::string>* names) {
  std::set<std::string> used;
  for (unsigned i = 0; i < count(tensors); ++i) {
    std::string name = file.tensor_name(tensors->Get(i));
    for (unsigned k = 0; k < count(signature); ++k) {
      const schema::TensorMap& entry = *signature->Get(k);
      if (entry.name() != nullptr && entry.tensor_index() == static_cast<uint32_t>(tensors->Get(i)))
        name = entry.name()->str();
    }
    if (!used.insert(name).second) {
      name += ":" + std::to_string(i);
      used.insert(name);
    }
    names->push_back(name);
  }
}

void Importer::name_ports() {
  const schema::SignatureDef* signature = nullptr;
  const auto* all = file_.model->signature_defs();
  for (unsigned i = 0; i < count(all) && signature == nullptr; ++i)
    if (all->Get(i)->subgraph_index() == 0) signature = all->Get(i);
  set_names(file_, file_.graph->inputs(), signature ? signature->inputs() : nullptr, &input_names_);
  set_names(file_, file_.graph->outputs(), signature ? signature->outputs() : nullptr, &output_names_);
}

void Importer::add_input(unsigned i) {
  const int index = file_.graph->inputs()->Get(i);
  const schema::Tensor& tensor = file_.tensor(index);
  try {
    const fbs::DType type = is_quantised(tensor) ? fbs::DType::Float32 : to_dtype(tensor.type());
    values_.set(index, graph_->add_input(input_names_[i], shape_of(tensor), fbs::Layout::Same, type));
    note_port("input", input_names_[i], tensor);
  } catch (const Error& error) {
    reasons_.push_back({"", input_names_[i], 0, "input '" + input_names_[i] + "': " + error.what()});
  }
}

// What the integers of a port stand for: its values are real numbers in the blob.
void Importer::note_port(const char* kind, const std::string& name, const schema::Tensor& tensor) {
  if (!is_quantised(tensor)) return;
  const schema::QuantizationParameters& q = *tensor.quantization();
  const int64_t zero = count(q.zero_point()) > 0 ? q.zero_point()->Get(0) : 0;
  const std::string of_zero = zero < 0 ? "(q + " + std::to_string(-zero) + ")" : "(q - " + std::to_string(zero) + ")";
  char text[160];
  std::snprintf(text, sizeof text, "' has real numbers: the file's %s q stands for %s * %g", type_name(tensor.type()),
                zero == 0 ? "q" : of_zero.c_str(), static_cast<double>(q.scale()->Get(0)));
  notes_.push_back(std::string(kind) + " '" + name + text);
}

// Whether it has integers with a scale as weights, and floats as activations.
bool Importer::reads_quantised_weights(const schema::Operator& op) const {
  // These are exact in the interpreter, too.
  using Builtin = schema::BuiltinOperator;
  if (file_.builtin(op) == Builtin::DEQUANTIZE || file_.builtin(op) == Builtin::CUSTOM) return false;
  for (unsigned k = 0; k < count(op.outputs()); ++k)
    if (is_quantised(file_.tensor(op.outputs()->Get(k)))) return false;
  for (unsigned k = 0; k < count(op.inputs()); ++k)
    if (const int tensor = op.inputs()->Get(k);
        tensor >= 0 && values_.is_constant(tensor) && is_quantised(file_.tensor(tensor)))
      return true;
  return false;
}

// If all inputs are constants, the operators since `before` become constants.
void Importer::fold(const Op& op, size_t before) {
  if (graph_->table.operators.size() == before || !op.known()) return;
  for (size_t i = before; i < graph_->table.operators.size(); ++i)
    for (const TensorId output : graph_->table.operators[i]->outputs)
      values_.count_computed(graph_->shape(output).elements());
  fold_added_constants(*graph_, before);
}

void Importer::add_operator(unsigned i) {
  const schema::Operator& operator_ = *file_.graph->operators()->Get(i);
  std::string why;
  const OpFunction function = find_function(file_, operator_, &why);
  if (function == nullptr) return give_reason(i, why);
  if (!all_inputs_known(operator_)) return;  // their producer has already given the reason
  const size_t before = graph_->table.operators.size();
  try {
    Op op(values_, operator_);
    function(op);
    for (size_t k = 0; k < op.output_count(); ++k)
      if (!op.is_set(k)) fail("output %zu is not supported", k);
    fold(op, before);
  } catch (const Error& error) {
    return give_reason(i, error.what());
  }
  if (reads_quantised_weights(operator_)) ++dequantised_;
  const std::string name = count(operator_.outputs()) > 0 ? file_.tensor_name(operator_.outputs()->Get(0)) : "";
  for (size_t k = before; k < graph_->table.operators.size(); ++k)
    if (graph_->table.operators[k]->name.empty()) graph_->table.operators[k]->name = name;
  for (unsigned k = 0; options_.taps && k < count(operator_.outputs()); ++k) {
    const int output = operator_.outputs()->Get(k);
    const Tensor value = values_.get(output);
    const auto is_input = [&](const auto& port) { return port->tensor == value.id; };
    const auto& inputs = graph_->table.inputs;
    if (graph_->is_constant(value.id) || std::any_of(inputs.begin(), inputs.end(), is_input)) continue;
    constexpr size_t kLongestTap = 512;
    const std::string tap = file_.tensor_name(output).substr(0, kLongestTap);
    if (tap_names_.insert(tap).second) graph_->add_tap(tap, value, fbs::Layout::Same, false);
  }
}

void Importer::add_output(unsigned i) {
  const int index = file_.graph->outputs()->Get(i);
  if (!values_.has(index)) return;  // its producer has given the reason
  const std::string& name = output_names_[i];
  try {
    const Tensor value = values_.get(index);
    if (graph_->is_constant(value.id)) {
      notes_.push_back("output '" + name + "' is left out: it is the same for every input");
      return;
    }
    const schema::Tensor& tensor = file_.tensor(index);
    const fbs::DType type = is_quantised(tensor) ? fbs::DType::Float32 : to_dtype(tensor.type());
    graph_->add_output(name, computed(value), fbs::Layout::Same, type);
    note_port("output", name, tensor);
  } catch (const Error& error) {
    reasons_.push_back({"", name, 0, "output '" + name + "': " + error.what()});
  }
}

}  // namespace

Imported import_file(const File& file, const ImportOptions& options) { return Importer(file, options).import(); }

}  // namespace ferry::tflite
