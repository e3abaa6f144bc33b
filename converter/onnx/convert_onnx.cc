#include "converter/onnx/convert_onnx.h"

#include <charconv>

#if defined(FERRY_HAS_ONNX)
#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/sha256.h"
#include "converter/onnx/dynamic.h"
#include "converter/onnx/importer.h"
#include "converter/passes/passes.h"
#endif

namespace ferry::onnx {
namespace {

#if defined(FERRY_HAS_ONNX)
void refuse_checkpoint_options(const ConvertOptions& o) {
  const auto refuse = [](const char* option) {
    fail("%s: is for checkpoints, an ONNX file says itself what it is", option);
  };
  if (!o.model.empty()) refuse("--model");
  if (!o.state_dict.empty()) refuse("--state-dict");
  if (o.num_classes) refuse("--num-classes");
  if (o.in_chans) refuse("--in-chans");
  if (o.height || o.width) fail("--input-size: is for checkpoints, an ONNX file takes --shape NAME=1x3x224x224");
  if (!o.features.empty()) refuse("--features");
  if (o.unit_length) refuse("--unit-length");
  if (!o.labels.empty()) refuse("--labels");
}

std::unique_ptr<fbs::ProvenanceT> provenance(const ConvertOptions& options, const Model& model) {
  auto p = std::make_unique<fbs::ProvenanceT>();
  p->family = "onnx";
  p->variant = model.path.stem().string();
  p->source = options.source.empty() ? model.path.filename().string() : options.source;
  p->source_sha256 = sha256_hex(MappedFile::open(model.path)->bytes());
  p->framework = model.producer.empty() ? "onnx" : model.producer;
  p->converter = "ferry " + std::to_string(FERRY_VERSION_MAJOR) + "." + std::to_string(FERRY_VERSION_MINOR) + "." +
                 std::to_string(FERRY_VERSION_PATCH);
  return p;
}
#endif

}  // namespace

bool is_onnx_file(const std::filesystem::path& path) { return path.extension() == ".onnx"; }

std::map<std::string, std::vector<int64_t>> parse_shapes(const std::vector<std::string>& shapes) {
  std::map<std::string, std::vector<int64_t>> out;
  for (const std::string& text : shapes) {
    const size_t equals = text.rfind('=');
    std::vector<int64_t> dims;
    bool good = equals != std::string::npos && equals > 0;
    for (size_t at = equals; good && at < text.size();) {
      int64_t size = 0;
      const auto [end, bad] = std::from_chars(text.data() + at + 1, text.data() + text.size(), size);
      good = bad == std::errc() && size > 0 && (end == text.data() + text.size() || *end == 'x');
      at = static_cast<size_t>(end - text.data());
      dims.push_back(size);
    }
    if (!good) fail("--shape %s: expected an input's name and its sizes, like input=1x3x224x224", text.c_str());
    out[text.substr(0, equals)] = dims;
  }
  return out;
}

#if defined(FERRY_HAS_ONNX)
std::unique_ptr<Graph> build_graph(const ConvertOptions& options) {
  refuse_checkpoint_options(options);
  const Model model = read_model(options.checkpoint);
  const auto import_at = [&](const std::map<std::string, Dims>& shapes) {
    Imported imported =
        import_model(model, {.shapes = shapes, .disabled_patterns = {options.without.begin(), options.without.end()}});
    if (!imported.known.empty())
      fail("%s: output '%s' is the same for every input: nothing is left to run",
           model.path.filename().string().c_str(), imported.known.begin()->first.c_str());
    if (options.passes) {
      sink_transposes(*imported.graph, {});
      slice_before_reshape(*imported.graph, {});
      run_passes(*imported.graph, {});
    }
    return std::move(imported.graph);
  };
  const std::map<std::string, Dims> shapes = parse_shapes(options.shapes);
  std::unique_ptr<Graph> graph =
      options.dynamic.empty() ? import_at(shapes) : import_dynamic(model, options.dynamic, shapes, import_at);
  graph->table.name = model.path.stem().string();
  graph->table.provenance = provenance(options, model);
  return graph;
}
#else
std::unique_ptr<Graph> build_graph(const ConvertOptions& options) {
  fail("%s: this build reads no ONNX files (FERRY_ONNX is off)", options.checkpoint.string().c_str());
}
#endif

}  // namespace ferry::onnx
