// Families of networks for images: how one of them is configured from what was published, what lies beside the
// checkpoint and what was asked for; the preprocessing and postprocessing, and its labels. What a family has to give is
// a row of functions (ImageNetworks).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converter/family.h"
#include "converter/preprocessing/preprocessing.h"

namespace ferry {

// One published training, and how its images are prepared.
struct ImageVariant : Variant {
  int num_classes = 1000;    // 0: not a classifier
  bool any_classes = false;  // a checkpoint of another number of classes is taken as it is
  int in_chans = 3;
  int height = 224, width = 224;
  ImagePreprocessing image = {};
  bool imagenet_labels = true;
  std::vector<std::string> labels = {};  // other than these
  // transformers' setting of this name, of those norms that its module takes it for; absent: the architecture's.
  std::optional<double> layer_norm_eps = {};
};

// What a network is built for.
struct ImageOptions {
  const ImageVariant& variant;
  std::optional<int> num_classes = {};  // 0: features only; absent: as many as the checkpoint's classifier has
  int in_chans = 3;
  int height = 224, width = 224;
  std::string input_name = "input";
  // transformers' config.json, which the network follows then; null: it is the variant's architecture.
  const nlohmann::json* config = nullptr;
};

// A row for a network that a config.json of transformers' describes: its own, or where nobody published it, the one
// that is most like it, for its images. Null: no network of this family.
struct Described {
  const ImageVariant* row = nullptr;
  bool published = false;
  int multiple_of = 0;  // sides of images that the network takes, where the config says; 0: the row's
};

// A further graph of a network, named in the blob.
struct ImageGraph {
  const char* name;
  void (*build)(Graph& graph, const Weights& weights, const ImageOptions& options);
};

struct ImageNetworks {
  const char* name;  // "ResNet"
  // The first variant of an architecture is its default.
  std::span<const ImageVariant> (*variants)();
  std::span<const Naming> (*namings)();
  // Input, network, outputs and taps. A family that is not a classifier of images also sets the graph's preprocess
  // and postprocess; otherwise they follow from the variant.
  void (*build)(Graph& graph, const Weights& weights, const ImageOptions& options);
  // Of a transformers config.json. May be null. Throws Error for one of this family's model types that says what
  // `build` does not build.
  Described (*described_by)(const nlohmann::json& config) = nullptr;
  // The size of image that the checkpoint's table of positions was made for; absent: there is none that tells. May be
  // null.
  std::optional<Settings::Size> (*stored_size)(const Weights& weights, const ImageOptions& options) = nullptr;
  // Beside the one that `build` makes. May be null.
  std::span<const ImageGraph> (*graphs)() = nullptr;
};

class ImageFamily final : public Family {
 public:
  explicit ImageFamily(const ImageNetworks& networks) : networks_(networks) {}

  const char* name() const override { return networks_.name; }
  std::vector<const Variant*> variants() const override;
  std::span<const Naming> namings() const override { return networks_.namings(); }
  // "num-classes" (0: features only, output "pooled"), "in-chans" (1..64; the first convolution is adapted by timm's
  // rule), "input-size", "features" (these maps of the pyramid are the outputs, "feat/0", and nothing else),
  // "unit-length" (an embedding's postprocessing divides it by its Euclidean length).
  std::span<const std::string_view> settings() const override;
  Description describe(const Variant& variant) const override;
  std::optional<Images> images(const Variant& variant) const override;
  const Variant* described_by(const nlohmann::json& config) const override;
  std::vector<const Variant*> candidates(const Naming& naming) const override;
  Configured configure(const Request& request) const override;

 private:
  ImageNetworks networks_;
};

// The ImageNet-1k class names, in the order of the logits.
const std::vector<std::string>& imagenet_labels();

}  // namespace ferry
