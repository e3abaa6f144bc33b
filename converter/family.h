// What a family of networks gives the converter. Families lie in models/, which knows the converter and not the other
// way round: convert() is handed those that it may choose from. docs/port-a-model-family.md says how to write one.
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

// Who a network is: one published training. What makes the network is the family's own affair.
struct Variant {
  std::string architecture;  // "resnet50"; the family knows it by this name
  std::string tag;           // "a1_in1k": which training; may be empty
  std::string framework;     // whose checkpoint: a naming of the family bears the same name
  std::string hub;           // where it is published: "timm/resnet50.a1_in1k"; may be empty
  std::string digest;        // the first digits of its file's SHA-256, where files are called by them; may be empty

  // "resnet50.a1_in1k"
  std::string name() const { return tag.empty() ? architecture : architecture + "." + tag; }
  // Is `called` one of its names? `whole`: of this variant alone ("resnet50.a1_in1k", "timm/resnet50.a1_in1k", the
  // hub's), not of its architecture ("resnet50", "timm/resnet50").
  bool is_called(const std::string& called, bool whole) const {
    const std::string own = whole ? name() : architecture;
    return called == own || called == framework + "/" + own || (whole && called == hub);
  }
};

// What a family configures a network from.
struct Request {
  std::shared_ptr<const Checkpoint> checkpoint;
  const Naming& naming;    // that of the checkpoint's keys
  const Variant& variant;  // one of the family's
  // The config.json beside the checkpoint, of the framework that trained it; null where there is none.
  const nlohmann::json& config;
  const Settings& settings;      // those that Family::settings() names
  std::filesystem::path labels;  // class names, one a line; empty: the network's own
  // Whether the checkpoint may be this variant's is being tried: names and shapes count, values have no meaning.
  // AnySize: the variant may have been trained for inputs of another size than was published.
  enum class Trial { No, AsPublished, AnySize } trial = Trial::No;
};

// A network whose sizes are all known.
struct Configured {
  Variant variant;  // who it is in the end: a configuration may name another training
  // Puts inputs, network, outputs, taps, and what goes before and after them, into the graph. Throws Error.
  using Build = std::function<void(Graph& graph, const Weights& weights)>;
  Build build;
  // Further graphs of the same checkpoint: what of it one of them reads, none of the others does.
  struct Named {
    std::string name;
    Build build;
  };
  std::vector<Named> graphs = {};
  // Further graphs that follow from the first one, once that is finished: copies of it, edited.
  struct Derived {
    std::string name;
    void (*edit)(Graph* graph);
  };
  std::vector<Derived> derived = {};
};

// The graph that build() makes, then those of `graphs`, named; each key of the checkpoint is read once. Throws Error.
std::vector<std::unique_ptr<Graph>> build_graphs(const Configured& network, Ledger& ledger);

class Family {
 public:
  virtual ~Family() = default;

  virtual const char* name() const = 0;  // "ResNet"
  // The first one of an architecture is its default.
  virtual std::vector<const Variant*> variants() const = 0;
  virtual std::span<const Naming> namings() const = 0;
  // Names of the settings that its networks understand.
  virtual std::span<const std::string_view> settings() const = 0;
  // What `ferry models` says of a variant of its: two columns, and what a program wants to know of both.
  struct Description {
    std::string input, output;  // "224x224", "1000 classes"
    std::vector<std::pair<std::string, nlohmann::json>> properties;
  };
  virtual Description describe(const Variant& variant) const = 0;

  // How the variant's images become its input, at its own size, and what its classes are called; of a family that
  // sees none, or whose preprocessing is no simple one: absent.
  struct Images {
    fbs::PreprocessT preprocess;
    int classes = 0;
    std::vector<std::string> labels;  // none where nobody named them
  };
  virtual std::optional<Images> images(const Variant&) const { return {}; }

  // The variant that this config.json is about: where nobody published such a network, the one most like it. Null: it
  // is about none of this family. Throws Error where it is, and the family cannot build what it says.
  virtual const Variant* described_by(const nlohmann::json& config) const = 0;
  // Which variants a checkpoint of this naming may be tried on when nothing says what it holds, in this order.
  virtual std::vector<const Variant*> candidates(const Naming& naming) const = 0;

  // Throws Error where a setting, or what lies beside the checkpoint, does not fit.
  virtual Configured configure(const Request& request) const = 0;
};

using Families = std::span<const Family* const>;

}  // namespace ferry
