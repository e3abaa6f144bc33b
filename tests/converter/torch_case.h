// Tiny networks that a script ran in PyTorch: their parameters, by the script's formula, and a way to run the graph
// that a family builds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/error.h"
#include "converter/reference/interpreter.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {

// constexpr: tables of thousands would otherwise take long to compile.
struct TorchCase {
  struct Extents {
    std::array<int64_t, 4> of;  // 0 after the last

    operator std::vector<int64_t>() const { return {of.begin(), std::find(of.begin(), of.end(), 0)}; }
  };
  struct Parameter {
    const char* key;
    Extents shape;
  };
  const char* name;
  std::initializer_list<Parameter> parameters;
  std::initializer_list<double> output;
};

// Multiples of 1/64, from the key's letters; shifted if they must be positive.
inline std::vector<float> torch_values(const std::string& key, const std::vector<int64_t>& shape) {
  int64_t seed = 0, count = 1;
  for (char c : key) seed += 11 * c;
  for (int64_t d : shape) count *= d;
  const float offset = key.ends_with("periods") || key.ends_with("running_var") ? 1 : 0;
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(offset + static_cast<float>((i * 37 + seed) % 61 - 30) / 64);
  return out;
}

inline std::shared_ptr<MemoryCheckpoint> torch_checkpoint(const TorchCase& c) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const TorchCase::Parameter& p : c.parameters) file->add(p.key, p.shape, torch_values(p.key, p.shape));
  return file;
}

// The naming of the checkpoint's keys.
inline const Naming& naming_of(std::span<const Naming> namings, const Checkpoint& file) {
  const auto fits = [&](const Naming& naming) {
    return std::all_of(naming.probes.begin(), naming.probes.end(),
                       [&](const std::string& key) { return file.tensors().contains(key); });
  };
  const auto found = std::find_if(namings.begin(), namings.end(), fits);
  if (found == namings.end()) fail("the keys fit no naming");
  return *found;
}

// The value of tensor `output` for the image that the scripts call "input", N,H,W,C.
inline std::vector<double> run_on_torch_input(const Graph& graph, TensorId output, const Shape& shape) {
  const int places = shape[1] * shape[2], channels = shape[3];
  const std::vector<float> planes = torch_values("input", {channels, places});
  std::vector<double> pixels;
  for (int place = 0; place < places; ++place)
    for (int c = 0; c < channels; ++c) pixels.push_back(planes[static_cast<size_t>(c * places + place)]);
  std::vector<reference::State> states;  // these may be run with other input shapes than declared
  const auto computed = reference::interpret(graph, {reference::Array{shape, std::move(pixels)}}, &states);
  return computed.at(output).values;
}

inline std::vector<double> run_on_torch_input(const Graph& graph, TensorId output) {
  return run_on_torch_input(graph, output, graph.shape(graph.table.inputs.front()->tensor));
}

// Both compute in float64, but epsilons and scales are float32 in the graph.
inline void expect_near(std::span<const double> ours, std::span<const double> torch) {
  ASSERT_EQ(ours.size(), torch.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], torch[i], 1e-10) << i;
}

}  // namespace ferry
