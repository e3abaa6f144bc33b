// transformers' config.json, written by save_pretrained beside the checkpoint:
//
//     {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768, "image_size": 224,
//      "layer_norm_eps": 1e-12, "id2label": {"0": "tench", ...}}
//
// A family builds its network from the sizes in it (ImageNetworks::described_by, ConfigReader); this file reads what
// all families share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/vision/image_family.h"

namespace ferry {

// Reads settings of a network. `otherwise` is transformers' default of an absent or null setting. Throws Error with the
// setting's name if it has an unexpected type, or a value that the family does not support.
class ConfigReader {
 public:
  explicit ConfigReader(const nlohmann::json& config) : config_(config) {}

  bool has(const char* key) const;
  int integer(const char* key, int otherwise, int minimum = 1) const;
  std::vector<int> integers(const char* key, const std::vector<int>& otherwise) const;  // at least one, each at least 1
  double number(const char* key, double otherwise) const;                               // above 0
  // at least one, each above 0
  std::vector<double> numbers(const char* key, const std::vector<double>& otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const char* otherwise) const;
  // An integer, or a list of two equal ones: "patch_size": [16, 16].
  int side(const char* key, int otherwise) const;
  // The activation by its name in transformers.
  Tensor (*activation(const char* key, const char* otherwise) const)(Tensor);
  // Throws Error unless the setting is `builds`.
  void require(const char* key, bool builds) const;
  [[noreturn]] void refuse(const char* key, const std::string& expected) const;

 private:
  const nlohmann::json& config_;
};

// The variant with the config's training: classes, input, epsilon. Throws Error if an entry has an unexpected type or
// value.
ImageVariant with_transformers_config(ImageVariant variant, const nlohmann::json& config);

// Expected number of classes; 0: features. Absent if the checkpoint decides: configs omit two classes without names.
std::optional<int> transformers_classes(const nlohmann::json& config, const ImageVariant& variant);

// Height of the input; 0 if the config has none.
int transformers_height(const nlohmann::json& config);

// Finds the published network among `rows` that equals `network`, preferably with the config's image size; else the
// first one for which `like` holds. `config_of` returns the configuration of an architecture.
template <typename Config>
Described described_among(std::span<const ImageVariant> rows, const nlohmann::json& config, const Config& network,
                          const Config& (*config_of)(const std::string&), bool (*like)(const Config&, const Config&)) {
  const int height = transformers_height(config);
  Described found;
  for (const ImageVariant& row : rows) {
    if (row.framework != "transformers") continue;
    Config known = config_of(row.architecture);
    if (!like(known, network)) continue;
    known.architecture = network.architecture;
    const bool same = known == network;
    if (!found.row || (same && (!found.published || (row.height == height && found.row->height != height))))
      found = {&row, same};
  }
  return found;
}

}  // namespace ferry
