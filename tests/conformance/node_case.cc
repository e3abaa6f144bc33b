#include "tests/conformance/node_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "converter/checkpoint/checkpoint.h"
#include "converter/onnx/importer.h"
#include "converter/onnx/tensor_proto.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "tests/support/blobs.h"
#include "tests/support/run_blob.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;
using onnx::Array;
using Arrays = std::vector<Array>;

Array read_array(const CheckpointTensor& tensor) {
  const bool real = tensor.type == ElementType::F32 || tensor.type == ElementType::F16;
  const onnx::Type type = tensor.type == ElementType::F32    ? onnx::Type::Float32
                          : tensor.type == ElementType::F16  ? onnx::Type::Float16
                          : tensor.type == ElementType::Bool ? onnx::Type::Bool
                          : tensor.type == ElementType::U8   ? onnx::Type::UInt8
                          : tensor.type == ElementType::I8   ? onnx::Type::Int8
                          : tensor.type == ElementType::I32  ? onnx::Type::Int32
                                                             : onnx::Type::Int64;
  const std::vector<double> values = tensor.to_doubles();
  if (real) return onnx::make_array(type, tensor.shape, values);
  return onnx::make_array(type, tensor.shape, std::vector<int64_t>(values.begin(), values.end()));
}

// Inputs ("input") or outputs in the order of the model's.
Arrays read_arrays(const fs::path& folder, const std::vector<onnx::ValueInfo>& values, const std::string& kind,
                   int data_set = 0) {
  Arrays arrays;
  if (const fs::path file = folder / (kind == "input" ? "inputs.safetensors" : "expected.safetensors");
      fs::exists(file)) {
    const auto checkpoint = open_checkpoint(file);
    for (const onnx::ValueInfo& value : values) arrays.push_back(read_array(checkpoint->tensors().at(value.name)));
    return arrays;
  }
  const fs::path data = folder / ("test_data_set_" + std::to_string(data_set));
  for (int i = 0;; ++i) {
    const fs::path file = data / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return arrays;
    arrays.push_back(onnx::read_tensor_file(file));
  }
}

std::string compare(const std::string& name, const Array& expected, const onnx::Dims& dims,
                    const std::vector<double>& got, const Tolerance& tolerance) {
  if (dims != expected.dims)
    return "output '" + name + "' is " + onnx::to_string(dims) + ", expected " + onnx::to_string(expected.dims);
  const std::vector<double> want = expected.floats();
  double largest = 0;
  for (const double v : want) largest = std::max(largest, std::isfinite(v) ? std::fabs(v) : 0.0);
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i]));
    const double bound = onnx::is_float(expected.type) ? tolerance.absolute + tolerance.relative * std::fabs(want[i]) +
                                                             tolerance.of_largest * largest
                                                       : 0;
    if (same || std::fabs(want[i] - got[i]) <= bound) continue;
    char text[160];
    std::snprintf(text, sizeof text, "output '%s'[%zu] is %.9g, expected %.9g", name.c_str(), i, got[i], want[i]);
    return text;
  }
  return "";
}

// Compares the results of the blob of `graph` with the expected ones; empty if they agree.
std::string compare_blob(const Graph& graph, const onnx::Model& model, const Arrays& inputs, const Arrays& outputs,
                         const Tolerance& tolerance, const std::string& gpu = "") {
  const std::vector<std::byte> packed = pack(graph);
  AlignedBytes blob(packed);
  BlobTensors given, computed;
  for (size_t i = 0; i < model.inputs.size() && i < inputs.size(); ++i) {
    given[model.inputs[i].name] = {inputs[i].dims, inputs[i].floats()};
  }
  if (const std::string problem = run_blob(blob.data(), blob.size(), given, &computed, gpu); !problem.empty())
    return problem;
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const auto found = computed.find(model.outputs[i].name);
    if (found == computed.end()) continue;  // known at conversion
    const std::string wrong = compare(found->first, outputs[i], found->second.dims, found->second.values, tolerance);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// The inputs of an operator that determine its outputs' shapes, by their names in the specification: shapes, axes,
// sizes, pads, repeats, lengths, k, depth... All others are data.
std::set<size_t> shaping_inputs(const onnx::Node& node) {
  static const std::map<std::string, std::set<size_t>> kShaping = {
      {"Attention", {6}},
      {"CenterCropPad", {1}},
      {"ConstantOfShape", {0}},
      {"CumSum", {1}},
      {"Dropout", {1, 2}},
      {"Expand", {1}},
      {"GRU", {4}},
      {"LSTM", {4}},
      {"NonMaxSuppression", {2, 3, 4}},
      {"OneHot", {1}},
      {"Pad", {1, 2, 3}},
      {"RNN", {4}},
      {"Range", {0, 1, 2}},
      {"Reshape", {1}},
      {"Resize", {1, 2, 3}},
      {"Slice", {1, 2, 3, 4}},
      {"Split", {1}},
      {"Squeeze", {1}},
      {"Tile", {1}},
      {"TopK", {1}},
      {"Trilu", {1}},
      {"Unsqueeze", {1}},
      {"Upsample", {1}},
  };
  if (node.op.starts_with("Reduce")) return {1};
  const auto found = kShaping.find(node.op);
  return found == kShaping.end() ? std::set<size_t>{} : found->second;
}

// The graph's values that determine a shape.
std::set<std::string> shaping_values(const onnx::Model& model) {
  std::set<std::string> values;
  for (auto node = model.nodes.rbegin(); node != model.nodes.rend(); ++node) {
    const bool all = std::any_of(node->outputs.begin(), node->outputs.end(),
                                 [&](const std::string& output) { return values.contains(output); });
    if (node->op == "Shape" || node->op == "Size") continue;
    const std::set<size_t> some = shaping_inputs(*node);
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (all || some.contains(i)) values.insert(node->inputs[i]);
  }
  return values;
}

// True if these are integers of 32 bits, as activations are.
bool fit(const Array& array) {
  const std::vector<double> values = array.floats();
  return onnx::is_float(array.type) ||
         std::all_of(values.begin(), values.end(), [](double v) { return std::fabs(v) < 0x1p31; });
}

// Inputs that determine shapes are known at conversion, as in real networks. `weights`: so are scalars and all inputs
// except the first.
onnx::ImportOptions bind(const onnx::Model& model, const Arrays& inputs, bool weights) {
  onnx::ImportOptions options;
  const std::set<std::string> shaping = shaping_values(model);
  bool first = true;
  for (size_t i = 0; i < model.inputs.size() && i < inputs.size(); ++i) {
    const onnx::ValueInfo& input = model.inputs[i];
    const bool weight = weights && (!first || inputs[i].elements() == 1);
    if (shaping.contains(input.name) || !fit(inputs[i]) || weight) {
      options.constants[input.name] = inputs[i];
    } else {
      first = false;
      options.shapes[input.name] = inputs[i].dims;
    }
  }
  return options;
}

// Operators whose parameters are weights in most files, and computed in some: both are run.
bool has_weights(const std::string& op) {
  return op.ends_with("Normalization") || op == "Conv" || op == "ConvTranspose" || op == "DeformConv";
}

// Sequences and optional values are not among this suite's types.
std::optional<std::string> unreadable(const onnx::Model& model) {
  for (const auto* list : {&model.inputs, &model.outputs})
    for (const onnx::ValueInfo& value : *list)
      if (onnx::type_size(value.type) == 0) return "'" + value.name + "' is of type " + onnx::type_name(value.type);
  return {};
}

// The operator of the case: that of its first node. If the operator was expanded to a function's body, its values begin
// with its name.
std::string operator_of(const onnx::Model& model, const std::string& name) {
  const std::string marker = "_" + name.substr(0, name.find("_ver", name.find("_expanded")));
  for (const onnx::Node& node : model.nodes)
    for (const std::string& output : node.outputs)
      if (const size_t at = output.find(marker); at != std::string::npos) return output.substr(0, at);
  return model.nodes.empty() ? "" : model.nodes.front().op;
}

Outcome run_imported(onnx::Imported imported, const onnx::Model& model, const fs::path& folder, const Arrays& inputs,
                     const Tolerance& tolerance) {
  Outcome outcome;
  const Arrays outputs = read_arrays(folder, model.outputs, "output");
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const auto known = imported.known.find(model.outputs[i].name);
    if (known == imported.known.end()) continue;
    outcome.reason = compare(known->first, outputs[i], known->second.dims, known->second.floats(), tolerance);
    if (outcome.reason.empty() && known->second.type != outputs[i].type)
      outcome.reason = "the type is " + onnx::type_name(known->second.type);
    outcome.verdict = outcome.reason.empty() ? Verdict::Folded : Verdict::Wrong;
    if (outcome.verdict == Verdict::Wrong) return outcome;
  }
  Graph& graph = *imported.graph;
  if (graph.table.outputs.empty()) return outcome;
  sink_transposes(graph, {});
  slice_before_reshape(graph, {});
  run_passes(graph, {});
  for (const auto& op : graph.table.operators) ++outcome.operators[fbs::EnumNameOpParams(op->params.type)];
  outcome.reason = compare_blob(graph, model, inputs, outputs, tolerance);
  outcome.verdict = outcome.reason.empty() ? Verdict::Passed : Verdict::Wrong;
  return outcome;
}

}  // namespace

Outcome run_case(const fs::path& folder, const Tolerance& tolerance, const std::set<std::string>& disabled) {
  Outcome outcome;
  try {
    const onnx::Model model = onnx::read_model(folder / "model.onnx");
    outcome.op = operator_of(model, folder.filename().string());
    outcome.opset = model.opset;
    if (const auto why = unreadable(model)) {
      outcome.reason = *why;
      return outcome;
    }
    const Arrays inputs = read_arrays(folder, model.inputs, "input");
    for (const bool weights : {false, true}) {
      try {
        onnx::ImportOptions options = bind(model, inputs, weights);
        options.disabled_patterns = disabled;
        Outcome ran = run_imported(onnx::import_model(model, options), model, folder, inputs, tolerance);
        ran.op = outcome.op;
        ran.opset = outcome.opset;
        if (!weights && ran.verdict == Verdict::Passed && has_weights(ran.op)) continue;
        return ran;
      } catch (const onnx::Refused& refused) {
        outcome.reason = refused.reasons().front().what;
      }
    }
  } catch (const Error& error) {
    outcome.reason = error.what();
  }
  return outcome;
}

std::string compare_at_sizes(const Graph& graph, const fs::path& folder, const Tolerance& tolerance, int data_set,
                             const std::string& gpu) {
  const onnx::Model model = onnx::read_model(folder / "model.onnx");
  return compare_blob(graph, model, read_arrays(folder, model.inputs, "input", data_set),
                      read_arrays(folder, model.outputs, "output", data_set), tolerance, gpu);
}

}  // namespace ferry::testing
