// How a framework names a network's modules and stores their weights.
//
// A family asks for weights and names taps in the canonical names: those of its home framework. Another framework's
// names are a table of templates from canonical to source, so that both the keys read and the taps written are the
// source's:
//
//     {"layer{s}.{b}.conv{i}", {"resnet.encoder.stages.{s-1}.layers.{b}.layer.{i-1}.convolution"}}
//
// A placeholder stands for an integer; the source may add or subtract a constant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

// How a framework orders a weight's dimensions and calls its leaves.
//   PyTorch: "conv1.weight" O,I,KH,KW; "fc.weight" O,I.
//   Keras:   "conv1/kernel" KH,KW,I,O; "fc/kernel" I,O.
enum class WeightLayout { PyTorch, Keras };

struct Rename {
  std::string canonical;
  std::vector<std::string> source;  // keys: exactly one; taps: any number, none if the framework has no such module
};

struct Naming {
  std::string framework = {};  // "timm", "torchvision", "transformers", "keras"
  // Keys that every checkpoint so named has; how a naming is recognised.
  std::vector<std::string> probes = {};
  WeightLayout layout = WeightLayout::PyTorch;
  std::vector<Rename> keys = {};  // modules; one that no rule matches keeps its canonical name
  std::vector<Rename> taps = {};  // asked before `keys` when a tap is named
  std::string input = "input";
};

// The source's name of a module. Throws Error where two rules match.
std::string source_module(const Naming& naming, std::string_view canonical);

// All names under which the output of a module is tapped; the first one is the most telling.
std::vector<std::string> tap_names(const Naming& naming, std::string_view canonical);

}  // namespace ferry
