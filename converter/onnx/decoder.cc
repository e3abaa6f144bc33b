#include "converter/onnx/decoder.h"

#include <algorithm>
#include <set>

#include "converter/onnx/cached_attention.h"
#include "converter/onnx/cached_model.h"
#include "converter/onnx/dynamic.h"
#include "converter/onnx/float_activations.h"
#include "converter/onnx/op.h"
#include "converter/passes/passes.h"

namespace ferry::onnx {
namespace {

// Maximum number of tokens of one run, and default of the maximum length, as for language models from checkpoints.
constexpr int64_t kMaxRun = 512, kDefaultMaxLength = 4096;

bool is_attention(const Node& node) {
  return (node.domain == "com.microsoft" && node.op == "GroupQueryAttention") ||
         (node.domain == "ferry" && node.op == "CachedAttention");
}

// Inputs of GroupQueryAttention; CachedAttention has the first five.
constexpr size_t kPastKey = 3, kPastValue = 4, kLengths = 5, kTotal = 6, kCosines = 7;

std::string input_of(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : ""; }

// Notes a cache of the attention; false if it is none.
bool add_cache(const Model& model, const Node& node, size_t past, Decoder* decoder) {
  const size_t output = past - kPastKey + 1;
  const ValueInfo* input = find_value(model.inputs, input_of(node, past));
  if (!input || output >= node.outputs.size() || !find_value(model.outputs, node.outputs[output])) return false;
  const std::vector<Dimension>& shape = input->shape;
  if (shape.size() != 4 || shape[1].size < 1 || shape[2].size >= 0 || shape[3].size < 1) return false;
  const int64_t width = shape[1].size * shape[3].size;
  if (width > 1 << 20) return false;
  return decoder->caches.emplace(input->name, Decoder::Cache{node.outputs[output], static_cast<int32_t>(width)}).second;
}

void limit_rows(const Model& model, const std::string& table, Decoder* decoder) {
  const auto found = model.constants.find(table);
  if (found == model.constants.end() || found->second.dims.size() != 2) return;
  const int64_t rows = found->second.dims[0];
  decoder->rows = decoder->rows == 0 ? rows : std::min(decoder->rows, rows);
}

// A reason for each node but the attention's that reads the mask or a cache: there, they are not what it expects.
std::vector<Reason> foreign_readers(const Model& model, const Decoder& decoder) {
  std::vector<Reason> reasons;
  std::set<std::string> of_mask = {decoder.mask};
  for (const Node& node : model.nodes) {
    bool reads_mask = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string& name = node.inputs[i];
      const bool length = is_attention(node) && (i == kLengths || i == kTotal);
      const bool past = is_attention(node) && (i == kPastKey || i == kPastValue);
      if (decoder.caches.contains(name) && !past)
        reasons.push_back({node.op, node.name, node.opset,
                           "it reads the cache '" + name + "', which only attention may read" + kOrdinary});
      if (!name.empty() && of_mask.contains(name) && !length) reads_mask = true;
    }
    if (reads_mask && is_attention(node))
      reasons.push_back(
          {node.op, node.name, node.opset,
           "its inputs follow from the mask '" + decoder.mask + "', expected only its lengths" + kOrdinary});
    else if (reads_mask)
      of_mask.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const ValueInfo& output : model.outputs)
    if (!output.name.empty() && of_mask.contains(output.name))
      reasons.push_back({"", output.name, 0, "output '" + output.name + "' follows from the mask" + kOrdinary});
  return reasons;
}

std::optional<Decoder> read_decoder(const Model& model) {
  Decoder decoder;
  for (const Node& node : model.nodes) {
    if (is_attention(node)) {
      if (!add_cache(model, node, kPastKey, &decoder) || !add_cache(model, node, kPastValue, &decoder)) return {};
      limit_rows(model, input_of(node, kCosines), &decoder);
    }
    if (node.domain == "com.microsoft" && node.op == "RotaryEmbedding") limit_rows(model, input_of(node, 2), &decoder);
  }
  if (decoder.caches.empty()) return {};
  for (const ValueInfo& input : model.inputs) {
    if (decoder.caches.contains(input.name)) continue;
    std::string* const part = input.name == "input_ids"        ? &decoder.ids
                              : input.name == "attention_mask" ? &decoder.mask
                              : input.name == "position_ids"   ? &decoder.positions
                                                               : nullptr;
    if (!part || input.shape.size() != 2 || input.shape[0].size > 1 || input.shape[1].size > 1) return {};
    *part = input.name;
  }
  std::set<std::string> presents;
  for (const auto& [past, cache] : decoder.caches) presents.insert(cache.present);
  for (const ValueInfo& output : model.outputs) {
    if (presents.contains(output.name)) continue;
    if (!decoder.logits.empty()) return {};
    decoder.logits = output.name;
  }
  if (decoder.ids.empty() || decoder.logits.empty()) return {};
  return decoder;
}

}  // namespace

std::optional<Decoder> find_decoder(const Model& model) {
  std::optional<Decoder> decoder = read_decoder(model);
  if (!decoder) return {};
  std::vector<Reason> reasons = foreign_readers(model, *decoder);
  if (!reasons.empty()) throw Refused(model.path.filename().string(), std::move(reasons));
  return decoder;
}

std::unique_ptr<Graph> build_decoder(const Model& quantised, const DecoderRequest& request, const TapNames& taps) {
  const Model file = with_float_activations(quantised);
  std::optional<Decoder> decoder = find_decoder(file);
  std::optional<CachedModel> cached;
  if (!decoder) {
    cached = with_cached_attention(file, request.max_length.value_or(kDefaultMaxLength));
    if (!cached) return nullptr;
    decoder = read_decoder(cached->model);
    if (!decoder) return nullptr;
    decoder->rows = cached->rows;
  }
  const Model& model = cached ? cached->model : file;
  const int64_t rows = decoder->rows > 0 ? decoder->rows : kDefaultMaxLength;
  const int64_t length = request.max_length.value_or(std::min(rows, kDefaultMaxLength));
  if (length < 1 || (decoder->rows > 0 && length > rows))
    fail("--max-length %lld: the tables of %s have %lld positions", static_cast<long long>(length),
         model.path.filename().string().c_str(), static_cast<long long>(rows));
  const auto import_at = [&](const std::map<std::string, Dims>& shapes, const ImportAs&) {
    DecoderStates states{*decoder, to_int32({length})[0], {}, {}};
    Imported imported = import_model(model, {.shapes = shapes,
                                             .constants = {},
                                             .disabled_patterns = {request.without.begin(), request.without.end()},
                                             .decoder = &states,
                                             .taps = taps});
    if (request.passes) {
      const PassOptions options{.keep_taps = !taps.empty()};
      make_channels_last(*imported.graph, options);
      run_passes(*imported.graph, options);
    }
    return AtSize{std::move(imported.graph), {}, {}};
  };
  if (find_value(model.inputs, decoder->ids)->shape[1].size == 1) return import_at({}, {}).graph;
  std::unique_ptr<Graph> graph = import_dynamic(model, {decoder->ids + ":1"}, {}, import_at);
  graph->table.inputs.front()->bound = {1, static_cast<int32_t>(std::min(length, kMaxRun))};
  return graph;
}

}  // namespace ferry::onnx
