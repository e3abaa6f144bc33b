#include "converter/tflite/importer.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "converter/suggest.h"
#include "converter/tflite/operators.h"
#include "converter/tflite/subgraphs.h"

namespace ferry::tflite {
namespace {

class Importer {
 public:
  Importer(const File& file, const ImportOptions& options)
      : file_(file),
        options_(options),
        graph_(std::make_unique<Graph>()),
        shared_(*graph_),
        values_(file, shared_),
        wanted_taps_(options.taps.names.begin(), options.taps.names.end()) {}

  Imported import() {
    note_networks();
    name_ports();
    check_shapes();
    for (unsigned i = 0; i < count(file_.graph->inputs()); ++i) add_input(i);
    for (unsigned i = 0; i < count(file_.graph->operators()); ++i) add_operator(i);
    for (unsigned i = 0; i < count(file_.graph->outputs()); ++i) add_output(i);
    shared_.variables.add_outputs(&notes_);
    if (reasons_.empty() && graph_->table.outputs.empty())
      reasons_.push_back({"", "", 0, "no output depends on an input: nothing is left to run"});
    if (!reasons_.empty()) throw Refused(file_.name(), std::move(reasons_));
    check_taps();
    if (dequantised_ > 0)
      notes_.push_back("8-bit weights of " + std::to_string(dequantised_) +
                       (dequantised_ == 1 ? " operator" : " operators") +
                       " are multiplied with float activations, which TensorFlow Lite rounds to 8 bits; Ferry rounds "
                       "those of linear layers, each row by itself");
    return {std::move(graph_), std::move(notes_), shared_.detection_head};
  }

 private:
  void note_networks();
  void name_ports();
  void check_shapes() const;
  void check_taps() const;
  void add_input(unsigned i);
  Shape input_shape(unsigned i, const schema::Tensor& tensor) const;
  void add_operator(unsigned i);
  void add_output(unsigned i);
  void add_taps(const schema::Operator& op);
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
  Shared shared_;
  Values values_;
  const std::set<std::string> wanted_taps_;
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

void Importer::note_networks() {
  if (file_.subgraph != 0) return;
  std::string all;
  for (const std::string& name : networks_of(file_)) all += (all.empty() ? "" : ", ") + name;
  if (!all.empty()) notes_.push_back("the first of the file's networks is converted; --network names one: " + all);
}

void Importer::name_ports() {
  const schema::SignatureDef* signature = signature_of(file_);
  set_names(file_, file_.graph->inputs(), signature ? signature->inputs() : nullptr, &input_names_);
  set_names(file_, file_.graph->outputs(), signature ? signature->outputs() : nullptr, &output_names_);
}

// Throws Error if --shape names no input, or gives it another number of dimensions.
void Importer::check_shapes() const {
  for (const auto& [name, sizes] : options_.shapes) {
    const auto found = std::find(input_names_.begin(), input_names_.end(), name);
    if (found == input_names_.end())
      fail("--shape %s: the network has no input of that name%s", name.c_str(),
           did_you_mean(name, input_names_).c_str());
    const schema::Tensor& tensor =
        file_.tensor(file_.graph->inputs()->Get(static_cast<unsigned>(found - input_names_.begin())));
    // A file without a shape may mean any.
    if (count(tensor.shape()) != 0 && count(tensor.shape()) != sizes.size())
      fail("--shape %s: %zu dimensions, the file has %u", name.c_str(), sizes.size(), count(tensor.shape()));
  }
}

Shape Importer::input_shape(unsigned i, const schema::Tensor& tensor) const {
  const auto given = options_.shapes.find(input_names_[i]);
  return given == options_.shapes.end() ? shape_of(tensor) : to_shape(given->second);
}

void Importer::add_input(unsigned i) {
  const int index = file_.graph->inputs()->Get(i);
  const schema::Tensor& tensor = file_.tensor(index);
  try {
    const fbs::DType type = is_quantised(tensor) ? fbs::DType::Float32 : to_dtype(tensor.type());
    values_.set(index, graph_->add_input(input_names_[i], input_shape(i, tensor), fbs::Layout::Same, type));
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

void Importer::add_operator(unsigned i) {
  const schema::Operator& operator_ = *file_.graph->operators()->Get(i);
  std::string why;
  const OpFunction function = find_function(file_, operator_, &why);
  if (function == nullptr) return give_reason(i, why);
  if (!all_inputs_known(operator_)) return;  // their producer has already given the reason
  try {
    tflite::add_operator(values_, operator_, function);
  } catch (const Error& error) {
    return give_reason(i, error.what());
  }
  if (reads_quantised_weights(operator_)) ++dequantised_;
  if (options_.taps.any()) add_taps(operator_);
}

void Importer::add_taps(const schema::Operator& op) {
  for (unsigned k = 0; k < count(op.outputs()); ++k) {
    const int output = op.outputs()->Get(k);
    if (values_.is_handle(output)) continue;
    const Tensor value = values_.get(output);
    const auto is_input = [&](const auto& port) { return port->tensor == value.id; };
    const auto& inputs = graph_->table.inputs;
    if (graph_->is_constant(value.id) || std::any_of(inputs.begin(), inputs.end(), is_input)) continue;
    constexpr size_t kLongestTap = 512;
    const std::string name = file_.tensor_name(output), tap = name.substr(0, kLongestTap);
    if (!options_.taps.all && !wanted_taps_.contains(name) && !wanted_taps_.contains(tap)) continue;
    if (tap_names_.insert(tap).second) graph_->add_tap(tap, value, fbs::Layout::Same, false);
  }
}

// Throws Error for a --tap that no value has.
void Importer::check_taps() const {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count(file_.graph->tensors()); ++i) names.push_back(file_.tensor_name(static_cast<int>(i)));
  for (const std::string& name : wanted_taps_) {
    if (tap_names_.contains(name)) continue;
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("--tap %s: no tensor of %s is called so%s", name.c_str(), file_.name().c_str(),
           did_you_mean(name, {tap_names_.begin(), tap_names_.end()}).c_str());
    fail("--tap %s: it is an input, or known at conversion, so it cannot be tapped", name.c_str());
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
