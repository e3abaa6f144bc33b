#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/sam/parts.h"
#include "models/vision/transformers_config.h"

namespace ferry::sam {
namespace {

using nlohmann::json;

// A sub-configuration; absent settings have transformers' defaults.
const json& part(const json& config, const char* name) {
  static const json kEmpty = json::object();
  const auto found = config.find(name);
  if (found == config.end() || found->is_null()) return kEmpty;
  if (!found->is_object()) fail("config.json: %s is not an object", name);
  return *found;
}

// Indices of the blocks with global attention.
std::vector<int> global_blocks(const json& vision, int depth) {
  std::vector<int> all;
  const auto found = vision.find("global_attn_indexes");
  if (found == vision.end() || found->is_null()) {
    for (int b = 2; b < 12; b += 3) all.push_back(b);
    return all;
  }
  const bool good = found->is_array() && std::all_of(found->begin(), found->end(), [&](const json& b) {
                      return b.is_number_integer() && b >= 0 && b < depth;
                    });
  if (!good) ConfigReader(vision).refuse("global_attn_indexes", "numbers of blocks, 0 to " + std::to_string(depth - 1));
  return found->get<std::vector<int>>();
}

// Side of the attended map: the table has a row per offset, from -side + 1 to side - 1.
int side_of(const Weights& block) {
  const Shape rows = block["attn"].stored_shape("rel_pos_h");
  return rows.rank == 2 ? (rows[0] + 1) / 2 : 0;
}

}  // namespace

int image_side(const json& config) { return ConfigReader(part(config, "vision_config")).side("image_size", 1024); }

Config from_transformers(const json& config) {
  const json& vision = part(config, "vision_config");
  const ConfigReader image(vision), prompt(part(config, "prompt_encoder_config")),
      decoder(part(config, "mask_decoder_config"));
  Config out;
  out.width = image.integer("hidden_size", 768);
  out.depth = image.integer("num_hidden_layers", 12);
  out.heads = image.integer("num_attention_heads", 12);
  const double ratio = image.number("mlp_ratio", 4);
  out.hidden = image.integer("mlp_dim", static_cast<int>(out.width * ratio));
  out.patch = image.side("patch_size", 16);
  out.window = image.integer("window_size", 14, 0);
  out.global = global_blocks(vision, out.depth);
  out.qkv_bias = image.flag("qkv_bias", true);
  out.positions = image.flag("use_abs_pos", true);
  out.rel_pos = image.flag("use_rel_pos", true);
  out.epsilon = image.number("layer_norm_eps", 1e-6);
  out.act = image.activation("hidden_act", "gelu");
  out.embedding = image.integer("output_channels", 256);
  if (out.width % out.heads != 0)
    image.refuse("num_attention_heads", "a divisor of hidden_size, " + std::to_string(out.width));
  if (image.integer("num_pos_feats", 128) * 2 != out.embedding)
    image.refuse("num_pos_feats", "half of output_channels, " + std::to_string(out.embedding));
  if (image.side("image_size", 1024) % out.patch != 0)
    image.refuse("image_size", "a multiple of patch_size, " + std::to_string(out.patch));

  for (const ConfigReader* reader : {&prompt, &decoder})
    if (reader->integer("hidden_size", 256) != out.embedding)
      reader->refuse("hidden_size", "vision_config's output_channels, " + std::to_string(out.embedding));
  if (prompt.integer("num_point_embeddings", 4) != 4) prompt.refuse("num_point_embeddings", "4");
  out.mask_channels = prompt.integer("mask_input_channels", 16, 4);
  out.mask_epsilon = prompt.number("layer_norm_eps", 1e-6);
  out.mask_act = prompt.activation("hidden_act", "gelu");

  out.decoder_depth = decoder.integer("num_hidden_layers", 2);
  out.decoder_heads = decoder.integer("num_attention_heads", 8);
  out.decoder_hidden = decoder.integer("mlp_dim", 2048);
  out.downsample = decoder.integer("attention_downsample_rate", 2);
  if (out.embedding / out.downsample % out.decoder_heads != 0 || out.embedding % out.decoder_heads != 0)
    decoder.refuse("num_attention_heads",
                   "a divisor of hidden_size and of what attention_downsample_rate leaves of it");
  out.masks = 1 + decoder.integer("num_multimask_outputs", 3);
  out.quality_hidden = decoder.integer("iou_head_hidden_dim", 256);
  out.decoder_epsilon = decoder.number("layer_norm_eps", 1e-6);
  out.decoder_act = decoder.activation("hidden_act", "relu");
  out.groups = true;
  return out;
}

Config from_shapes(const Weights& w) {
  const auto size = [&](const char* module, const char* leaf, int dimension, int otherwise) {
    const Shape stored = w[module].stored_shape(leaf);
    return dimension < stored.rank ? stored[dimension] : otherwise;
  };
  Config out;
  out.embedding = size("image_encoder.neck.0", "weight", 0, out.embedding);
  out.masks = size("mask_decoder.mask_tokens", "weight", 0, out.masks);
  const char* narrow = "mask_decoder.transformer.final_attn_token_to_image.q_proj";
  out.downsample = std::max(1, out.embedding / std::max(1, size(narrow, "weight", 0, out.embedding / 2)));
  if (is_tiny(w)) return out;

  const Weights blocks = w["image_encoder.blocks"];
  out.width = size("image_encoder.patch_embed.proj", "weight", 0, out.width);
  out.patch = size("image_encoder.patch_embed.proj", "weight", 2, out.patch);
  out.heads = std::max(1, out.width / std::max(1, size("image_encoder.blocks.0.attn", "rel_pos_h", 1, out.width)));
  out.depth = 0;
  while (blocks[out.depth]["norm1"].has("weight")) ++out.depth;
  // The smallest relative position tables belong to window attention, the larger ones to global attention.
  const int grid = size("image_encoder.pos_embed", "", 1, 0);
  out.window = grid;
  for (int b = 0; b < out.depth; ++b) out.window = std::min(out.window, side_of(blocks[b]));
  for (int b = 0; b < out.depth; ++b)
    if (side_of(blocks[b]) > out.window || out.window == grid) out.global.push_back(b);
  return out;
}

std::optional<Settings::Size> stored_size(const Weights& w, const ImageOptions& options) {
  if (options.config) {
    const int side = image_side(*options.config);
    return Settings::Size{side, side};
  }
  const Shape table = w["image_encoder.pos_embed"].stored_shape("");
  if (table.rank != 4) return {};
  const int patch = from_shapes(w).patch;
  return Settings::Size{table[1] * patch, table[2] * patch};
}

Described described_by(const json& config) {
  if (ConfigReader(config).text("model_type", "") != "sam") return {};
  const Config network = from_transformers(config);
  Described found;
  for (const ImageVariant& row : variants()) {
    if (row.framework != "transformers") continue;
    const bool same =
        image_side(config) == row.height &&
        std::any_of(published().begin(), published().end(), [&](const Published& known) {
          return row.architecture == known.architecture && known.width == network.width && known.depth == network.depth;
        });
    if (!found.row || same) found = {&row, same};
  }
  return found;
}

}  // namespace ferry::sam
