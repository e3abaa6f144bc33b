// Networks for the runtime's tests, opened through the C API, and the oracle's results for whole graphs.
#pragma once

#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "converter/reference/reference.h"
#include "tests/support/blobs.h"

namespace ferry::testing {

// EXPECT_OK(ferry_session_run(s)): prints the message on failure.
#define ASSERT_OK(call) ASSERT_EQ(call, FERRY_OK) << ferry_last_error()
#define EXPECT_OK(call) EXPECT_EQ(call, FERRY_OK) << ferry_last_error()

// A graph packed and opened. The model is closed at the end; sessions may outlive that.
struct Opened {
  explicit Opened(const Graph& graph) : blob(pack(graph)) {
    EXPECT_OK(ferry_model_open_memory(blob.data(), blob.size(), &model));
  }
  ~Opened() { ferry_model_close(model); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  AlignedBytes blob;
  ferry_model* model = nullptr;
};

struct CloseSession {
  void operator()(ferry_session* session) const { ferry_session_close(session); }
};
using SessionPtr = std::unique_ptr<ferry_session, CloseSession>;

inline ferry_session_options default_options() {
  ferry_session_options options;
  ferry_session_options_init(&options);
  return options;
}

inline SessionPtr make_session(ferry_model* model, const ferry_session_options& options = default_options()) {
  ferry_session* session = nullptr;
  EXPECT_OK(ferry_session_create(model, &options, &session));
  return SessionPtr(session);
}

inline SessionPtr make_session(ferry_model* model, int threads) {
  ferry_session_options options = default_options();
  options.num_threads = threads;
  return make_session(model, options);
}

inline std::vector<float> elements(const ferry_tensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + tensor.bytes / sizeof(float)};
}

// Fills every input with noise that depends only on seed and shape.
inline void fill_inputs(ferry_model* model, ferry_session* session, uint32_t seed = 1) {
  for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
    ferry_tensor tensor;
    ASSERT_OK(ferry_session_input(session, i, &tensor));
    float* values = static_cast<float*>(tensor.data);
    for (size_t k = 0; k < tensor.bytes / sizeof(float); ++k) {
      values[k] = noise(seed + static_cast<uint32_t>(i), static_cast<uint32_t>(k));
    }
  }
}

// Every output and kept tap, by name.
inline std::map<std::string, std::vector<float>> results(ferry_model* model, ferry_session* session) {
  std::map<std::string, std::vector<float>> all;
  ferry_tensor tensor;
  for (size_t i = 0; i < ferry_model_output_count(model); ++i) {
    EXPECT_OK(ferry_session_output(session, i, &tensor));
    all[std::string("output ") + tensor.name] = elements(tensor);
  }
  for (size_t i = 0; i < ferry_model_tap_count(model); ++i) {
    EXPECT_OK(ferry_model_tap(model, i, &tensor));
    if (ferry_session_tap(session, tensor.name, &tensor) == FERRY_OK) {
      all[std::string("tap ") + tensor.name] = elements(tensor);
    }
  }
  return all;
}

// The oracle's outputs and taps of `graph` for the session's current inputs, named like those of results().
inline std::map<std::string, std::vector<double>> expected_results(const Graph& graph, ferry_session* session) {
  PerTensor<std::optional<reference::Array>> values(graph.table.tensors.size());
  for (const TensorId t : values.ids())
    if (graph.is_constant(t)) values[t] = reference::Array{graph.shape(t), graph.values(t)};
  for (size_t i = 0; i < graph.table.inputs.size(); ++i) {
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_input(session, i, &tensor));
    reference::Array array;
    for (int32_t d = 0; d < tensor.rank; ++d) array.shape[array.shape.rank++] = tensor.shape[d];
    const std::vector<float> given = elements(tensor);
    array.values.assign(given.begin(), given.end());
    values[graph.table.inputs[i]->tensor] = std::move(array);
  }
  for (const auto& op : graph.table.operators) {
    std::vector<const reference::Array*> inputs;
    for (TensorId input : op->inputs) inputs.push_back(&*values[input]);
    values[op->outputs[0]] = reference::compute(*SerializedOp(*op), inputs);
  }
  std::map<std::string, std::vector<double>> all;
  for (const auto& port : graph.table.outputs) all["output " + port->name] = values[port->tensor]->values;
  for (const auto& port : graph.table.taps) all["tap " + port->name] = values[port->tensor]->values;
  return all;
}

// Maximum difference over the maximum expected magnitude.
inline double relative_error(const std::vector<float>& actual, const std::vector<double>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double worst = 0;
  double scale = 1e-30;
  for (size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  return worst / scale;
}

// Runs the session and compares outputs and taps with the oracle.
inline void expect_oracle(const Graph& graph, ferry_model* model, ferry_session* session, double bound) {
  ASSERT_OK(ferry_session_run(session));
  const auto expected = expected_results(graph, session);
  for (const auto& [name, values] : results(model, session)) {
    EXPECT_LE(relative_error(values, expected.at(name)), bound) << graph.table.name << ", " << name;
  }
}

// `blocks` residual blocks of 3x3 convolutions on [1,size,size,channels] with tapped outputs, then a pooled linear
// layer: input -> logits [1,10].
inline std::unique_ptr<Graph> residual_network(int blocks, int32_t size, int32_t channels) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  uint32_t seed = 100;
  const auto constant = [&](const std::string& name, const Shape& shape, float scale) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    ++seed;
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * noise(seed, static_cast<uint32_t>(i));
    return g.add_constant(name, shape, std::move(values));
  };
  Tensor x = g.add_input("input", {1, size, size, channels}, fbs::Layout::NCHW);
  for (int b = 0; b < blocks; ++b) {
    const std::string name = "block." + std::to_string(b);
    fbs::Conv2dT conv;
    conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
    const float scale = 1.0f / static_cast<float>(channels);
    const Tensor y = g.add_op(name + ".conv", conv,
                              {x, constant(name + ".weight", {channels, 3, 3, channels}, scale),
                               constant(name + ".bias", {channels}, scale)});
    x = g.add_op(name, fbs::BinaryT(), {x, y});
    auto tap = std::make_unique<fbs::PortT>();
    tap->name = name;
    tap->tensor = x.id;
    tap->source_layout = fbs::Layout::NCHW;
    tap->block = true;
    g.table.taps.push_back(std::move(tap));
  }
  fbs::ReduceT mean;
  mean.axes = {1, 2};
  x = g.add_op("pool", mean, {x});
  x = g.add_op("fc", fbs::LinearT(), {x, constant("fc.weight", {10, channels}, 1), constant("fc.bias", {10}, 1)});
  g.add_output("logits", x, fbs::Layout::Same);
  g.table.name = "residual_network";
  return graph;
}

}  // namespace ferry::testing
