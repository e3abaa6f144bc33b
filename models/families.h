// The families that ferry converts: one explicit table. docs/port-a-model-family.md says how to add one.
//
// A family is a network's code, written in the names of its home framework, plus two kinds of tables: variants (what
// was published, and how its pictures are prepared) and namings (how other frameworks name the same modules).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/graph/naming.h"
#include "converter/graph/weights.h"
#include "converter/recipes/recipes.h"

namespace ferry {

struct Variant {
  std::string architecture;  // "resnet50"; the family knows it by this name
  std::string tag;           // "a1_in1k": which training; may be empty
  std::string framework;     // whose checkpoint: a naming of the family bears the same name
  std::string hub;           // where it is published: "timm/resnet50.a1_in1k"; may be empty
  int num_classes = 1000;    // 0: not a classifier
  int in_chans = 3;
  int height = 224, width = 224;
  PictureRecipe picture;
  bool imagenet_labels = true;
  // transformers' setting of this name, of those norms that its module takes it for; absent: the architecture's.
  std::optional<double> layer_norm_eps = {};

  // "resnet50.a1_in1k"
  std::string name() const { return tag.empty() ? architecture : architecture + "." + tag; }
};

struct BuildOptions {
  const Variant& variant;
  std::optional<int> num_classes = {};  // 0: features only; absent: as many as the checkpoint's classifier has
  int in_chans = 3;
  int height = 224, width = 224;
  std::string input_name = "input";
};

struct Family {
  const char* name;  // "ResNet"
  // The first variant of an architecture is its default.
  std::span<const Variant> (*variants)();
  std::span<const Naming> (*namings)();
  // Input, network, outputs and taps. A family that is not a classifier of pictures also sets the graph's preprocess
  // and postprocess; otherwise they follow from the variant.
  void (*build)(Graph& graph, const Weights& weights, const BuildOptions& options);
  // The architecture that a transformers config.json describes; empty: not one of this family. May be null. Throws
  // Error for one of this family's model types that has no counterpart here.
  std::string (*architecture_of)(const nlohmann::json& config);
};

std::span<const Family> families();

// The ImageNet-1k class names, in the order of the logits.
const std::vector<std::string>& imagenet_labels();

}  // namespace ferry
