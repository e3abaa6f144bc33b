// Networks with every packing of constant weights, for tests of packed files on each backend.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {

using Results = std::map<std::string, std::vector<float>>;

inline std::vector<float> numbers(uint32_t seed, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
  return values;
}

// A linear layer of 16 MB.
inline std::unique_ptr<Graph> large_linear() {
  constexpr int kIn = 512, kOut = 8192;
  auto graph = std::make_unique<Graph>();
  const Tensor x = graph->add_input("x", {1, 64, kIn}, fbs::Layout::Same);
  const Tensor weight = graph->add_constant("weight", {kOut, kIn}, numbers(1, size_t{kIn} * kOut));
  graph->add_output("y", graph->add_op("y", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
  return graph;
}

// The blob with zeroed constants.
inline std::vector<std::byte> emptied(std::span<const std::byte> blob) {
  Parts parts(blob);
  std::fill(parts.data.begin(), parts.data.end(), std::byte{0});
  for (const auto& buffer : parts.model.buffers) buffer->checksum = 0;
  return parts.assemble();
}

// Every packing of constant weights, on one input [1,12,12,32]; each has its own output.
class Packings {
 public:
  Packings() : x_(graph_->add_input("x", {1, 12, 12, 32}, fbs::Layout::Same)) {
    fbs::Conv2dT plain, strided, grouped, depthwise, dilated;
    strided.stride_h = strided.stride_w = 2;
    grouped.groups = 2;
    depthwise.groups = dilated.groups = 32;
    dilated.dilation_h = dilated.dilation_w = 2;
    conv("pointwise", plain, {48, 1, 1, 32});
    conv("plain", strided, {20, 3, 3, 32});
    conv("grouped", grouped, {24, 3, 3, 16});
    conv("winograd", plain, {32, 3, 3, 32});
    conv("depthwise", depthwise, {32, 5, 5, 1});
    conv("depthwise_dilated", dilated, {32, 3, 3, 1});
    conv("scale", depthwise, {32, 1, 1, 1});
    conv("panels", plain, {288, 5, 5, 32});
    fbs::ConvTranspose2dT apart, overlapping, single;
    apart.stride_h = apart.stride_w = 2;
    overlapping.stride_h = overlapping.stride_w = 2;
    conv("windows", apart, {16, 2, 2, 32});
    conv("transposed", overlapping, {8, 3, 3, 32});
    conv("transposed_single", single, {8, 3, 3, 32});
    linear("linear", x_, 40);
    fbs::ReduceT mean;
    mean.axes = {1, 2};
    linear("few_rows", graph_->add_op("mean", mean, {x_}), 1000);
  }

  const Graph& graph() const { return *graph_; }

  // Quantizes the linear operators and the pointwise convolution, which have kernels.
  void quantize(void (*to_integers)(Graph&, const fbs::TensorT&)) {
    for (const TensorId weight : rows_) to_integers(*graph_, graph_->at(weight));
  }

 private:
  template <typename Params>
  void conv(const std::string& name, const Params& params, std::vector<int32_t> shape) {
    size_t count = 1;
    for (const int32_t size : shape) count *= static_cast<size_t>(size);
    Shape w;
    for (const int32_t size : shape) w[w.rank++] = size;
    const Tensor weight = graph_->add_constant(name + ".weight", w, numbers(++seed_, count));
    const Tensor bias =
        graph_->add_constant(name + ".bias", {shape[0]}, numbers(++seed_, static_cast<size_t>(shape[0])));
    if (name == "pointwise") rows_.push_back(weight.id);
    graph_->add_output(name, graph_->add_op(name, params, {x_, weight, bias}), fbs::Layout::Same);
  }

  void linear(const std::string& name, const Tensor& input, int32_t outputs) {
    const Tensor weight =
        graph_->add_constant(name + ".weight", {outputs, 32}, numbers(++seed_, static_cast<size_t>(outputs) * 32));
    const Tensor bias = graph_->add_constant(name + ".bias", {outputs}, numbers(++seed_, static_cast<size_t>(outputs)));
    rows_.push_back(weight.id);
    graph_->add_output(name, graph_->add_op(name, fbs::LinearT(), {input, weight, bias}), fbs::Layout::Same);
  }

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  Tensor x_;
  uint32_t seed_ = 0;
  std::vector<TensorId> rows_;  // weights that may be quantized
};

enum class Stored { Float32, Float16, Int8, Int4 };

inline std::vector<std::byte> packings(Stored stored) {
  Packings packings;
  if (stored == Stored::Int8) packings.quantize(quantize_to_int8);
  if (stored == Stored::Int4) packings.quantize(quantize_to_int4);
  const bool halves = stored == Stored::Float16;
  return pack(packings.graph(), {.weights = halves ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32});
}

// A session's results, report and memory.
struct Outcome {
  Results results;
  std::vector<std::string> notes;
  uint64_t packed = 0;
};

inline Outcome run_session(ferry_model* model, const ferry_session_options& options) {
  const SessionPtr session = make_session(model, options);
  fill_inputs(model, session.get());
  EXPECT_OK(ferry_session_run(session.get()));
  Outcome outcome{results(model, session.get()), {}, ferry_session_packed_bytes(session.get())};
  while (const char* note = ferry_session_report_note(session.get(), outcome.notes.size()))
    outcome.notes.push_back(note);
  return outcome;
}

inline Outcome run_session(std::span<const std::byte> blob, const ferry_session_options& options) {
  AlignedBytes bytes(blob);
  ferry_model* model = nullptr;
  EXPECT_OK(ferry_model_open_memory(bytes.data(), bytes.size(), &model));
  Outcome outcome = run_session(model, options);
  ferry_model_close(model);
  return outcome;
}

inline void expect_same_bits(const Results& expected, const Results& got) {
  ASSERT_EQ(expected.size(), got.size());
  for (const auto& [name, values] : expected) {
    ASSERT_EQ(values.size(), got.at(name).size()) << name;
    EXPECT_EQ(std::memcmp(values.data(), got.at(name).data(), values.size() * sizeof(float)), 0) << name;
  }
}

// Differs if the file was written again: a new one replaces it. Its times say when it was used.
inline ino_t inode_of(const std::filesystem::path& file) {
  struct stat info = {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0);
  return info.st_ino;
}

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

// The blob with its packed file embedded, as `ferry pack --embed` makes it.
inline std::vector<std::byte> with_packed(const std::vector<std::byte>& blob, const std::string& packed) {
  Parts parts(blob);
  auto buffer = std::make_unique<fbs::BufferT>();
  buffer->offset = parts.data.size();
  buffer->size = packed.size();
  auto entry = std::make_unique<fbs::PackedT>();
  entry->target = "test";
  entry->buffer = static_cast<uint32_t>(parts.model.buffers.size());
  parts.model.buffers.push_back(std::move(buffer));
  parts.model.packed.push_back(std::move(entry));
  const auto bytes = std::as_bytes(std::span(packed));
  parts.data.insert(parts.data.end(), bytes.begin(), bytes.end());
  parts.data.resize((parts.data.size() + 16 + 63) / 64 * 64);
  return parts.assemble();
}

// Kilobytes of this process's mapping of a file that are resident.
inline size_t resident_kilobytes(const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  size_t sum = 0;
  for (bool inside = false; std::getline(maps, line);) {
    if (line.find('-') != std::string::npos && line.find(" r") != std::string::npos)
      inside = line.ends_with(file.string());
    if (inside && line.starts_with("Rss:")) sum += std::stoul(line.substr(4));
  }
  return sum;
}

}  // namespace ferry::testing
