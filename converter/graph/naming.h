// A framework's module names and weight layouts.
//
// A family requests weights and names taps by canonical names, those of its home framework. For other frameworks, a
// table of templates maps canonical to source names, for keys and taps:
//
//     {"layer{s}.{b}.conv{i}", {"resnet.encoder.stages.{s-1}.layers.{b}.layer.{i-1}.convolution"}}
//
// A placeholder matches an integer; the source may add or subtract a constant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

// Order of a weight's dimensions and names of its leaves.
//   PyTorch: "conv1.weight" O,I,KH,KW; "fc.weight" O,I.
//   Keras:   "conv1/kernel" KH,KW,I,O; "fc/kernel" I,O.
enum class WeightLayout { PyTorch, Keras };

struct Rename {
  std::string canonical;
  std::vector<std::string> source;  // keys: exactly one; taps: any number, none if the framework has no such module
};

struct Naming {
  std::string framework = {};  // "timm", "torchvision", "transformers", "keras"
  // Keys in every checkpoint with this naming; they identify it.
  std::vector<std::string> probes = {};
  // First components of keys that are not under the prefix of the probes: where a checkpoint leaves out "model.", they
  // stay as they are.
  std::vector<std::string> apart = {};
  WeightLayout layout = WeightLayout::PyTorch;
  std::vector<Rename> keys = {};  // modules; a module without a rule keeps its canonical name
  std::vector<Rename> taps = {};  // taken before `keys` when naming a tap
  std::string input = "input";
};

// The source's name of a module. Throws Error if two rules match.
std::string source_module(const Naming& naming, std::string_view canonical);

// All tap names of a module's output; the most specific one first.
std::vector<std::string> tap_names(const Naming& naming, std::string_view canonical);

}  // namespace ferry
