#include "models/language/language_family.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/passes/last_token.h"
#include "converter/text/text_files.h"
#include "models/language/config.h"
#include "models/language/vision_graph.h"

namespace ferry::language {
namespace {

// Maximum number of tokens of one run: longer prompts are split. It bounds the memory that a session plans.
constexpr int kMaxRun = 512;
// Default of --max-length: enough for a chat, with a rope table of a few megabytes.
constexpr int kDefaultMaxLength = 4096;

// The language model's part of config.json: an object of its own in multimodal models.
const nlohmann::json& about_language(const nlohmann::json& config) {
  return config.contains("text_config") && config["text_config"].is_object() ? config["text_config"] : config;
}

// Adds the inputs of a network with a vision tower, for runs of up to `tokens` tokens.
Images add_images(const VisionTower& tower, int tokens, Graph& graph) {
  const auto input = [&](const char* name, const Shape& shape, std::vector<int> bound, fbs::DType type) {
    const Tensor tensor = graph.add_input(name, shape, fbs::Layout::Same, type);
    graph.table.inputs.back()->bound = std::move(bound);
    return tensor;
  };
  return {.positions = input(kPositions, {3, 1}, {3, tokens}, fbs::DType::Int64),
          .rows = input(kRows, {1, 1}, {1, tokens}, fbs::DType::Int64),
          .features = input(kFeatures, {tower.planes(), 1, tower.out}, {tower.planes(), 1 + tokens, tower.out},
                            fbs::DType::Float32)};
}

// Mixtral's files keep the names that its modules had before transformers 5.
Naming mixtral_naming() {
  const std::string layer = "model.layers.{l}.", old = layer + "block_sparse_moe.", now = layer + "mlp.";
  const std::string expert = "experts.{e}.";
  return {.framework = "transformers",
          .probes = {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.block_sparse_moe.gate.weight"},
          .apart = {"lm_head", "mtp"},
          .keys = {{now + "gate", {old + "gate"}},
                   {now + expert + "gate_proj", {old + expert + "w1"}},
                   {now + expert + "up_proj", {old + expert + "w3"}},
                   {now + expert + "down_proj", {old + expert + "w2"}}},
          .taps = {{now + "gate", {now + "gate"}}},
          .input = "input_ids"};
}

}  // namespace

LanguageFamily::LanguageFamily(const Networks& networks)
    : networks_(networks), variant_{.architecture = networks.model_type, .framework = "transformers"} {}

std::span<const Naming> LanguageFamily::namings() const {
  static const Naming kNamings[] = {mixtral_naming(),
                                    {.framework = "transformers",
                                     .probes = {"model.embed_tokens.weight", "model.norm.weight"},
                                     .apart = {"lm_head", "mtp"},
                                     .input = "input_ids"},
                                    {.framework = "transformers",
                                     .probes = {"model.language_model.embed_tokens.weight",
                                                "model.language_model.norm.weight", "model.visual.pos_embed.weight"},
                                     .apart = {"lm_head", "mtp"},
                                     .input = "input_ids"}};
  return kNamings;
}

std::span<const std::string_view> LanguageFamily::settings() const {
  static constexpr std::string_view kSettings[] = {"max-length"};
  return kSettings;
}

Family::Description LanguageFamily::describe(const Variant&) const {
  return {.input = "token ids", .output = "next token", .properties = {{"output", "next token"}}};
}

const Variant* LanguageFamily::described_by(const nlohmann::json& config) const {
  const auto type = config.find("model_type");
  return type != config.end() && *type == networks_.model_type ? &variant_ : nullptr;
}

Configured LanguageFamily::configure(const ConfigureRequest& request) const {
  if (!request.config.is_object())
    fail("%s needs the config.json beside its checkpoint, which is missing", networks_.name);
  if (!request.labels.empty()) fail("--labels: a language model has no classes");
  const Network network = networks_.network(request.config);
  const int trained =
      Configuration(about_language(request.config), "config.json").count("max_position_embeddings", 2048);
  const int usual = std::min(trained, network.short_length > 0 ? network.short_length : kDefaultMaxLength);
  const int max_length =
      request.settings.integer("max-length", 1, trained).value_or(std::min(usual, kDefaultMaxLength));
  std::vector<std::string> notes;
  fbs::TextT text = text_of_model(request.checkpoint->companions(), request.config, network.vocabulary, &notes);
  text.graph = kLastToken;
  std::vector<Configured::Named> more;
  if (network.tower) {
    const VisionGraph vision = vision_graph_of(*network.tower, *request.checkpoint, max_length);
    text.images = std::make_unique<fbs::ImagesT>(vision.text());
    more.push_back({kVision, [vision](Graph& graph, const Weights& weights) { vision.build(graph, weights); }});
  }
  const std::vector<uint8_t> packed_text = packed(text);
  const std::string input = request.naming.input;
  const int max_run = std::min(max_length, kMaxRun);
  return {.variant = variant_,
          .build =
              [=](Graph& graph, const Weights& weights) {
                const Tensor ids = graph.add_input(input, {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
                graph.table.inputs.back()->bound = {1, max_run};
                Text built_for = {graph, max_length};
                if (network.tower) built_for.images = add_images(*network.tower, max_run, graph);
                const Tensor logits = network.logits(ids, weights, built_for);
                graph.add_output("logits", logits, fbs::Layout::Same);
                graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
                graph.table.postprocess->task = fbs::Task::Text;
                graph.table.text = packed_text;
              },
          .graphs = std::move(more),
          .derived = {{kLastToken, keep_last_token}},
          .notes = std::move(notes)};
}

}  // namespace ferry::language
