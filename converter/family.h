// The interface of model families. Families are in models/, which depends on the converter; convert() is passed a table
// of them. docs/port-a-model-family.md shows how to write one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/graph/naming.h"
#include "converter/graph/weights.h"
#include "converter/settings.h"

namespace ferry {

// One published training of a network. The family defines the network itself.
struct Variant {
  std::string architecture;  // "resnet50", known to the family
  std::string tag;           // "a1_in1k", the training; may be empty
  std::string framework;     // origin of the checkpoint; names one of the family's namings
  std::string hub;           // repository: "timm/resnet50.a1_in1k"; may be empty
  std::string digest;        // first digits of the file's SHA-256, if file names contain them; may be empty

  // "resnet50.a1_in1k"
  std::string name() const { return tag.empty() ? architecture : architecture + "." + tag; }
  // Whether `called` is one of its names. `whole`: of this variant ("resnet50.a1_in1k", "timm/resnet50.a1_in1k", the
  // hub's), else of its architecture ("resnet50", "timm/resnet50").
  bool is_called(const std::string& called, bool whole) const {
    const std::string own = whole ? name() : architecture;
    return called == own || called == framework + "/" + own || (whole && called == hub);
  }
};

// Inputs of Family::configure().
struct ConfigureRequest {
  std::shared_ptr<const Checkpoint> checkpoint;
  const Naming& naming;    // of the checkpoint's keys
  const Variant& variant;  // one of the family's variants
  // The framework's config.json beside the checkpoint; null if there is none.
  const nlohmann::json& config;
  const Settings& settings;      // those in Family::settings()
  std::filesystem::path labels;  // class names, one per line; empty: the network's own
  // A trial run tests whether the checkpoint may be of this variant: names and shapes matter, values do not. AnySize:
  // the variant may have been trained for another input size than the published one.
  enum class Trial { No, AsPublished, AnySize } trial = Trial::No;
};

// A network with all sizes resolved.
struct Configured {
  Variant variant;  // the final variant: a configuration may name another training
  // Adds inputs, network, outputs, taps, preprocessing and postprocessing to the graph. Throws Error.
  using Build = std::function<void(Graph& graph, const Weights& weights)>;
  Build build;
  // Additional graphs of the same checkpoint; each key is used by exactly one of the graphs.
  struct Named {
    std::string name;
    Build build;
  };
  std::vector<Named> graphs = {};
  // Additional graphs derived from the first: edited copies of it, made after the passes.
  struct Derived {
    std::string name;
    void (*edit)(Graph* graph);
  };
  std::vector<Derived> derived = {};
  std::vector<std::string> notes = {};  // sentences: what was left out, and what was assumed
};

// Builds the first graph, then those of `graphs`. Each key of the checkpoint is read once. Throws Error.
std::vector<std::unique_ptr<Graph>> build_graphs(const Configured& network, Ledger& ledger);

class Family {
 public:
  virtual ~Family() = default;

  virtual const char* name() const = 0;  // "ResNet"
  // The first one of an architecture is its default.
  virtual std::vector<const Variant*> variants() const = 0;
  virtual std::span<const Naming> namings() const = 0;
  // Names of the supported settings.
  virtual std::span<const std::string_view> settings() const = 0;
  // What `ferry models` prints of a variant: two columns, and properties for programs.
  struct Description {
    std::string input, output;  // "224x224", "1000 classes"
    std::vector<std::pair<std::string, nlohmann::json>> properties;
  };
  virtual Description describe(const Variant& variant) const = 0;

  // Preprocessing of the variant's images at its own size, and its labels. Absent: the family has no image input, or
  // its preprocessing cannot be expressed.
  struct Images {
    fbs::PreprocessT preprocess;
    int classes = 0;
    std::vector<std::string> labels;  // empty if unknown
  };
  virtual std::optional<Images> images(const Variant&) const { return {}; }

  // The variant that this config.json describes; for an unpublished network, the most similar one. Null: the config is
  // not of this family. Throws Error if it is, but is not supported.
  virtual const Variant* described_by(const nlohmann::json& config) const = 0;
  // Variants to try on a checkpoint of this naming if nothing else identifies it, in order.
  virtual std::vector<const Variant*> candidates(const Naming& naming) const = 0;

  // Throws Error if a setting or a file beside the checkpoint is invalid.
  virtual Configured configure(const ConfigureRequest& request) const = 0;
};

using Families = std::span<const Family* const>;

}  // namespace ferry
