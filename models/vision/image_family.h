// Families of image networks. A network is configured from its published variant, the files beside the checkpoint, and
// the options. The shared code adds preprocessing, postprocessing and labels. A family is a row of functions
// (ImageNetworks).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converter/family.h"
#include "converter/preprocessing/preprocessing.h"

namespace ferry {

// One published training and its preprocessing.
struct ImageVariant : Variant {
  int num_classes = 1000;    // 0: not a classifier
  bool any_classes = false;  // checkpoints with another number of classes are accepted
  int in_chans = 3;
  int height = 224, width = 224;
  ImagePreprocessing image = {};
  bool imagenet_labels = true;
  std::vector<std::string> labels = {};  // replace the ImageNet labels
  // transformers' setting of this name, for the norms to which its module applies it; absent: the architecture's.
  std::optional<double> layer_norm_eps = {};
};

// Options of building a network.
struct ImageOptions {
  const ImageVariant& variant;
  std::optional<int> num_classes = {};  // 0: features only; absent: the number of the checkpoint's classifier
  int in_chans = 3;
  int height = 224, width = 224;
  std::string input_name = "input";
  // transformers' config.json, which then determines the network; null: the variant's architecture does.
  const nlohmann::json* config = nullptr;
};

// The variant for a network that a transformers config.json describes: the published one, or for an unpublished network
// the most similar one, for its preprocessing. Null: the config is not of this family.
struct Described {
  const ImageVariant* row = nullptr;
  bool published = false;
  int multiple_of = 0;  // of the image's sides, if the config requires it; 0: the variant's
};

// An additional named graph of a network.
struct ImageGraph {
  const char* name;
  void (*build)(Graph& graph, const Weights& weights, const ImageOptions& options);
};

struct ImageNetworks {
  const char* name;  // "ResNet"
  // The first variant of an architecture is its default.
  std::span<const ImageVariant> (*variants)();
  std::span<const Naming> (*namings)();
  // Builds input, network, outputs and taps. Families other than classifiers also set the graph's preprocess and
  // postprocess; otherwise they follow from the variant.
  void (*build)(Graph& graph, const Weights& weights, const ImageOptions& options);
  // The variant for a transformers config.json. May be null. Throws Error if the config is of this family and has an
  // unsupported setting.
  Described (*described_by)(const nlohmann::json& config) = nullptr;
  // The image size of the checkpoint's position table; absent: it cannot be derived. May be null.
  std::optional<Settings::Size> (*stored_size)(const Weights& weights, const ImageOptions& options) = nullptr;
  // Additional graphs. May be null.
  std::span<const ImageGraph> (*graphs)() = nullptr;
};

class ImageFamily final : public Family {
 public:
  explicit ImageFamily(const ImageNetworks& networks) : networks_(networks) {}

  const char* name() const override { return networks_.name; }
  std::vector<const Variant*> variants() const override;
  std::span<const Naming> namings() const override { return networks_.namings(); }
  // "num-classes" (0: features only, output "pooled"), "in-chans" (1..64; the first convolution is adapted by timm's
  // rule), "input-size", "features" (these maps of the feature pyramid become the only outputs, "feat/0"...),
  // "unit-length" (the embedding is divided by its Euclidean norm in postprocessing).
  std::span<const std::string_view> settings() const override;
  Description describe(const Variant& variant) const override;
  std::optional<Images> images(const Variant& variant) const override;
  const Variant* described_by(const nlohmann::json& config) const override;
  std::vector<const Variant*> candidates(const Naming& naming) const override;
  Configured configure(const ConfigureRequest& request) const override;

 private:
  ImageNetworks networks_;
};

// The ImageNet-1k class names, in the order of the logits.
const std::vector<std::string>& imagenet_labels();

}  // namespace ferry
