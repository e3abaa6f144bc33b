#include "models/vision/sam/sam.h"

#include "models/vision/classifier.h"
#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

constexpr char kPrompt[] = "prompt";

Config network_of(const Weights& w, const ImageOptions& options) {
  if (options.config) return from_transformers(*options.config);
  Config config = from_shapes(w);
  if (options.variant.framework == "transformers") {
    config.decoder_epsilon = 1e-6;
    config.groups = true;
  }
  if (!is_tiny(w)) check_architecture(options.variant.architecture, config);
  return config;
}

// Size of the embedding: TinyViT's total stride equals ViT's patch side.
Grid grid_of(const Config& config, const ImageOptions& options) {
  if (options.height != options.width) fail("--input-size %dx%d: images must be square", options.height, options.width);
  if (options.height % config.patch != 0)
    fail("--input-size %d: the side must be a multiple of the patch's, %d", options.height, config.patch);
  return {options.height / config.patch, options.width / config.patch};
}

// Taps of the frameworks' multimask output: all masks but the first.
void tap_alternatives(const Masks& masks, const Weights& w, const Config& config) {
  const Tensor logits = slice(masks.logits, -1, 1, -1), qualities = slice(masks.qualities, -1, 1, -1);
  const Shape map = logits.shape();
  tap(config.groups ? reshape(transpose(logits, {0, 3, 1, 2}), {1, 1, map[3], map[1], map[2]}) : logits, w["masks"],
      kBlock);
  tap(config.groups ? reshape(qualities, {1, 1, -1}) : qualities, w["qualities"], kBlock);
}

void build_prompt(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config config = network_of(w, options);
  const Grid grid = grid_of(config, options);
  const Tensor embedding =
      graph.add_input("image_embedding", {1, grid.height, grid.width, config.embedding}, fbs::Layout::NCHW);
  graph.table.inputs.back()->static_input = true;
  const Prompt prompt = encode_prompt(graph, w["prompt_encoder"], config, grid, options.height);
  const Weights decoder = w["mask_decoder"];
  const Masks masks = decode_masks(embedding, prompt, decoder, config);
  if (config.masks > 1) tap_alternatives(masks, decoder, config);
  graph.add_output("mask_logits", masks.logits, fbs::Layout::NCHW);
  graph.add_output("mask_qualities", masks.qualities, fbs::Layout::Same);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  if (options.num_classes.value_or(0) > 0)
    fail("%s has no classes, so --num-classes does not apply", options.variant.name().c_str());
  const Config config = network_of(w, options);
  grid_of(config, options);
  const Tensor image = image_input(graph, options);
  const Weights encoder = w["image_encoder"];
  graph.add_output("image_embedding",
                   is_tiny(w) ? encode_image_tiny(image, encoder) : encode_image(image, encoder, config),
                   fbs::Layout::NCHW);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::PromptedSegmentation;
  fbs::PromptedSegmentationT params;
  params.graph = kPrompt;
  graph.table.postprocess->params.Set(std::move(params));
}

std::span<const ImageGraph> graphs() {
  static constexpr ImageGraph kGraphs[] = {{kPrompt, build_prompt}};
  return kGraphs;
}

}  // namespace ferry::sam
