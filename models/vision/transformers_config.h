// transformers' config.json, as it lies beside the checkpoints that save_pretrained writes:
//
//     {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768, "image_size": 224,
//      "layer_norm_eps": 1e-12, "id2label": {"0": "tench", ...}}
//
// A family builds its network from the sizes in it, whatever they are (ImageNetworks::described_by, ConfigReader);
// the rest is here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/vision/image_family.h"

namespace ferry {

// The entries that make a network. One that is absent or null has transformers' default, which the family says. Throws
// Error, naming the entry, where one is not what transformers writes, or is beyond what the family builds.
class ConfigReader {
 public:
  explicit ConfigReader(const nlohmann::json& config) : config_(config) {}

  bool has(const char* key) const;
  int integer(const char* key, int otherwise, int minimum = 1) const;
  std::vector<int> integers(const char* key, const std::vector<int>& otherwise) const;  // one at least, each 1 or more
  double number(const char* key, double otherwise) const;                               // above 0
  std::vector<double> numbers(const char* key, const std::vector<double>& otherwise) const;  // one at least, above 0
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const char* otherwise) const;
  // An integer, or two equal ones: "patch_size": [16, 16].
  int side(const char* key, int otherwise) const;
  // transformers' name of an activation.
  Tensor (*activation(const char* key, const char* otherwise) const)(Tensor);
  // Throws Error unless the entry is what the family builds.
  void require(const char* key, bool builds) const;
  [[noreturn]] void refuse(const char* key, const std::string& expected) const;

 private:
  const nlohmann::json& config_;
};

// The variant with what the config says of this training: classes, input, epsilon. Throws Error where an entry is not
// what transformers writes.
ImageVariant with_transformers_config(ImageVariant variant, const nlohmann::json& config);

// How many classes to expect; 0: the model gives features. Absent where the config leaves it to the checkpoint: it says
// nothing of two classes without names.
std::optional<int> transformers_classes(const nlohmann::json& config, const ImageVariant& variant);

// The input's height as the config says; 0 where it does not.
int transformers_height(const nlohmann::json& config);

// Among `rows`, the published network that `network` is, trained for the config's size of image if one was; where
// there is none, the first one that is `like` it. `config_of`: the network of an architecture.
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
