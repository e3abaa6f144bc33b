#include "converter/onnx/convert_onnx.h"

#include <algorithm>
#include <charconv>

#if defined(FERRY_HAS_ONNX)
#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/sha256.h"
#include "converter/onnx/dynamic.h"
#include "converter/onnx/importer.h"
#include "converter/onnx/reader.h"
#include "converter/onnx/taps.h"
#include "converter/passes/passes.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/keep_integers.h"
#endif

namespace ferry::onnx {
namespace {

#if defined(FERRY_HAS_ONNX)
std::unique_ptr<fbs::ProvenanceT> provenance(const Model& model) {
  auto p = std::make_unique<fbs::ProvenanceT>();
  p->family = "onnx";
  p->variant = model.path.stem().string();
  p->source = model.path.filename().string();
  p->source_sha256 = sha256_hex(MappedFile::open(model.path)->bytes());
  p->framework = model.producer.empty() ? "onnx" : model.producer;
  return p;
}

// Builds the graph with these taps, some of the recognisers left out.
using Build = std::function<std::unique_ptr<Graph>(const TapNames& taps, const std::vector<std::string>& without)>;

bool has_tap(const fbs::GraphT& graph, const std::string& name) {
  const auto is_named = [&](const auto& port) { return port->name == name; };
  return std::any_of(graph.taps.begin(), graph.taps.end(), is_named) ||
         std::any_of(graph.outputs.begin(), graph.outputs.end(), is_named);
}

// Whether the value can be tapped if no operators are fused by patterns.
bool is_in_pattern(const std::string& value, const Build& build) {
  try {
    return has_tap(build({{value, value}}, {"all"})->table, value);
  } catch (const Error&) {  // only the pattern can be imported
    return false;
  }
}

// Throws Error, with the nearest value that can be tapped, if one that is asked for is not in the graph.
void check_taps(const Model& model, const TapRequest& taps, const Graph& graph, const Build& build,
                const std::vector<std::string>& without) {
  for (const std::string& name : taps.names) {
    if (has_tap(graph.table, name)) continue;
    const std::string value = tap_names(model, {.names = {name}}).at(name);
    if (std::any_of(model.outputs.begin(), model.outputs.end(), [&](const auto& o) { return o.name == value; }))
      continue;  // it is compared as an output
    const std::string called = "--tap " + name + (value == name ? "" : ", value '" + value + "'");
    const TapNames every = tap_names(model, {.all = true});
    const bool in_pattern = is_in_pattern(value, build);
    std::set<std::string> tappable;
    for (const auto& [tap, of] : every) tappable.insert(of);
    const std::unique_ptr<Graph> all = build(every, without);
    std::erase_if(tappable, [&](const std::string& of) { return !has_tap(all->table, of); });
    const std::string near = nearest_value(model, value, tappable);
    fail("%s: it is %s, so it cannot be tapped; the nearest value that can is %s%s", called.c_str(),
         in_pattern ? "fused with others into one operator"
                    : "known at conversion, folded into an operator, or of a size that a run sets",
         near.empty() ? "none" : ("'" + near + "'").c_str(),
         in_pattern ? "; --no-recognise all keeps the operators as they are" : "");
  }
}

#endif

}  // namespace

bool looks_like_onnx(std::span<const std::byte> bytes) {
  // onnx.proto's ModelProto: fields of integers, and of texts and messages.
  constexpr uint64_t kIntegers = 1u << 1 | 1u << 5;
  constexpr uint64_t kMessages =
      1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 14 | 1u << 20 | 1u << 25 | 1u << 26;
  constexpr uint64_t kGraph = 7;
  size_t at = 0;
  const auto read_varint = [&](uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
      const auto byte = std::to_integer<uint64_t>(bytes[at++]);
      *value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  bool graph = false;
  while (at < bytes.size()) {
    uint64_t tag = 0, value = 0;
    if (!read_varint(&tag)) return false;
    const uint64_t field = tag >> 3, wire = tag & 7;
    if (field > 31 || (wire == 0 ? (kIntegers >> field & 1) : wire == 2 ? (kMessages >> field & 1) : 0) == 0)
      return false;
    graph = graph || field == kGraph;
    if (!read_varint(&value)) return graph;
    if (wire == 0) continue;
    if (value > bytes.size() - at) return graph;  // truncated
    at += value;
  }
  return graph;
}

std::map<std::string, std::vector<double>> parse_values(const std::vector<std::string>& values) {
  std::map<std::string, std::vector<double>> out;
  for (const std::string& text : values) {
    const size_t equals = text.rfind('=');
    std::vector<double> numbers;
    bool good = equals != std::string::npos && equals > 0;
    for (size_t at = equals; good && at < text.size();) {
      double number = 0;
      const auto [end, bad] = std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
      good = bad == std::errc() && (end == text.data() + text.size() || *end == ',');
      at = static_cast<size_t>(end - text.data());
      numbers.push_back(number);
    }
    if (!good) fail("--value %s: expected an input's name and its numbers, like sr=16000", text.c_str());
    out[text.substr(0, equals)] = numbers;
  }
  return out;
}

#if defined(FERRY_HAS_ONNX)
namespace {

// The inputs that --value makes constants, with the types and ranks of the file. A value of rank 1 or 0 has the shape
// that its numbers have; of a higher rank the file must state its shape.
std::map<std::string, Array> constants_of(const Model& model, const std::vector<std::string>& values) {
  std::map<std::string, Array> out;
  for (const auto& [name, numbers] : parse_values(values)) {
    const std::string called = name;
    const auto input = std::find_if(model.inputs.begin(), model.inputs.end(),
                                    [&](const ValueInfo& value) { return value.name == called; });
    if (input == model.inputs.end()) fail("--value %s: the graph has no input of that name", name.c_str());
    Dims dims;
    for (const Dimension& dimension : input->shape) dims.push_back(dimension.size);
    if (!input->has_shape && numbers.size() > 1) dims = {-1};
    if (dims.size() == 1 && dims[0] < 0) dims[0] = static_cast<int64_t>(numbers.size());
    if (std::any_of(dims.begin(), dims.end(), [](int64_t size) { return size < 0; }) ||
        count_elements(dims) != static_cast<int64_t>(numbers.size()))
      fail("--value %s: %zu numbers for the shape %s", name.c_str(), numbers.size(), to_string(dims).c_str());
    out[name] = make_array(input->type, dims, numbers);
  }
  return out;
}

// Whether layers round their activations in a run, and patterns know them (patterns/dynamic_quantization.cc).
bool rounds_activations(const Model& model, const std::vector<std::string>& without) {
  const auto is_off = [](const std::string& name) { return name == "all" || name == "dynamic_quantization"; };
  return std::none_of(without.begin(), without.end(), is_off) &&
         std::any_of(model.nodes.begin(), model.nodes.end(), [](const Node& node) {
           return node.op == "DynamicQuantizeLinear" || node.op == "DynamicQuantizeMatMul";
         });
}

}  // namespace

std::unique_ptr<Graph> build_graph(const OnnxRequest& request) {
  const Model model = read_model(request.file);
  const TapNames taps = tap_names(model, request.taps);
  const std::map<std::string, Array> constants = constants_of(model, request.values);
  const auto import_with = [&](const std::map<std::string, Dims>& shapes, const TapNames& names,
                               const std::vector<std::string>& without, const ImportAs& as = {}) {
    Imported imported = import_model(model, {.shapes = shapes,
                                             .constants = constants,
                                             .disabled_patterns = {without.begin(), without.end()},
                                             .open_sizes = !request.dynamic.empty(),
                                             .open_values = as.open_values,
                                             .leading_is_batch = as.leading_is_batch,
                                             .taps = names});
    if (imported.graph->table.outputs.empty())
      fail("%s: output '%s' is the same for every input: nothing is left to run",
           model.path.filename().string().c_str(), imported.known.begin()->first.c_str());
    if (request.finish) request.finish(*imported.graph);
    for (const auto& [name, value] : imported.known)
      if (request.notes && value.elements() == 0)
        request.notes->push_back("output '" + name + "' is left out: it has no elements, " + to_string(value.dims));
    if (request.passes) {
      const PassOptions options{.keep_taps = !names.empty()};
      make_channels_last(*imported.graph, options);
      run_passes(*imported.graph, options);
    }
    return imported;
  };
  const std::map<std::string, Dims> shapes = parse_shapes(request.shapes);
  const Build build = [&](const TapNames& names, const std::vector<std::string>& without) {
    if (request.dynamic.empty()) return import_with(shapes, names, without).graph;
    const auto import_at = [&](const std::map<std::string, Dims>& at, const ImportAs& as) {
      return at_size(import_with(at, names, without, as));
    };
    std::unique_ptr<Graph> graph = import_dynamic(model, request.dynamic, shapes, import_at);
    // Padding stays apart while it is generalised.
    if (request.passes) fold_padding(*graph, {.keep_taps = !names.empty()});
    return graph;
  };
  std::unique_ptr<Graph> graph = build(taps, request.without);
  check_taps(model, request.taps, *graph, build, request.without);
  if (request.passes) int8::finish_integers(*graph, {.keep_taps = !taps.empty()}, request.notes);
  if (request.passes && rounds_activations(model, request.without)) int8::keep_integer_weights(*graph);
  graph->table.name = model.path.stem().string();
  graph->table.provenance = provenance(model);
  return graph;
}

std::unique_ptr<Graph> build_language_model(const DecoderRequest& request) {
  const Model model = read_model(request.file);
  const Build build = [&](const TapNames& names, const std::vector<std::string>& without) {
    DecoderRequest with = request;
    with.without = without;
    return build_decoder(model, with, names);
  };
  std::unique_ptr<Graph> graph = build(tap_names(model, request.taps), request.without);
  if (!graph) return nullptr;
  check_taps(model, request.taps, *graph, build, request.without);
  graph->table.name = model.path.stem().string();
  graph->table.provenance = provenance(model);
  return graph;
}

std::unique_ptr<Graph> build_ocr(const OcrRequest& request) {
  OnnxRequest finder = finder_request(read_model(request.finder)), line = line_request(read_model(request.line));
  for (OnnxRequest* one : {&finder, &line}) {
    one->without = request.without;
    one->passes = request.passes;
  }
  std::unique_ptr<Graph> graph = build_graph(finder);
  join_reader(*graph, !finder.dynamic.empty(), std::move(*build_graph(line)), !line.dynamic.empty(),
              request.characters);
  return graph;
}
#else
std::unique_ptr<Graph> build_graph(const OnnxRequest& request) {
  fail("%s: this build reads no ONNX files (FERRY_ONNX is off)", request.file.string().c_str());
}

std::unique_ptr<Graph> build_language_model(const DecoderRequest&) { return nullptr; }

std::unique_ptr<Graph> build_ocr(const OcrRequest& request) { return build_graph({.file = request.finder}); }
#endif

}  // namespace ferry::onnx
