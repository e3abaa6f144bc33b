// Checkpoints of generated weights, and blobs that may reproduce them.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>

#include "converter/checkpoint/safetensors.h"
#include "converter/error.h"
#include "converter/export/export.h"
#include "converter/export/record.h"
#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::export_test {

inline constexpr int kRows = 64, kColumns = 40;  // of every weight here: larger than what is stored without a search

inline std::string complaint(const std::function<void()>& what) {
  try {
    what();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline std::vector<float> numbers(uint32_t seed, size_t count = size_t{kRows} * kColumns) {
  std::vector<float> out;
  for (uint32_t i = 0; i < count; ++i) out.push_back(testing::noise(seed, i) * 1.37f);
  return out;
}

template <typename T>
std::string text_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A safetensors checkpoint and a graph of its tensors.
class ExportTest : public ::testing::Test {
 protected:
  void add(const std::string& name, ElementType type, std::vector<int64_t> shape, std::string bytes) {
    contents_.emplace_back(name, std::move(bytes));
    CheckpointTensor& tensor = tensors_[name];
    tensor.type = type;
    tensor.shape = std::move(shape);
  }

  Converted write_and_open(const std::string& name = "model.safetensors") {
    for (const auto& [key, bytes] : contents_) tensors_[key].bytes = std::as_bytes(std::span(bytes));
    std::filesystem::create_directories(source());
    write_safetensors(source() / name, tensors_, {{"format", "pt"}});
    return {open_checkpoint(source() / name), {}};
  }

  // A product of each of these weights with the input.
  static std::unique_ptr<Graph> graph_of(const std::vector<std::vector<float>>& weights, int columns = kColumns) {
    auto graph = std::make_unique<Graph>();
    const Tensor x = graph->add_input("x", {1, columns}, fbs::Layout::Same);
    int i = 0;
    for (const std::vector<float>& values : weights) {
      const auto rows = static_cast<int32_t>(values.size()) / columns;
      const std::string name = "weight" + std::to_string(i++);
      const Tensor weight = graph->add_constant(name, {rows, columns}, values);
      graph->add_output(name, graph->add_op(name, fbs::LinearT(), {x, weight}), fbs::Layout::Same);
    }
    return graph;
  }

  void pack(const Graph& graph, const Converted& converted, bool all = false) {
    pack_file(graph, {}, blob(), {}, [&](const fbs::GraphT& table, const WrittenData& data, const Sink& sink) {
      record_checkpoint(converted, all, table, data, sink);
    });
  }

  // The message of export_checkpoint(); empty if it reproduced every file of the source.
  std::string round_trip() {
    std::filesystem::remove_all(target());
    const std::string said = complaint([&] { export_checkpoint(blob(), target()); });
    EXPECT_EQ(std::filesystem::exists(target()), said.empty());
    EXPECT_EQ(count<std::filesystem::directory_iterator>(folder_.path()), 2u + (said.empty() ? 1 : 0))
        << "something is left";
    if (!said.empty()) return said;
    EXPECT_EQ(count<std::filesystem::recursive_directory_iterator>(source()),
              count<std::filesystem::recursive_directory_iterator>(target()));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source()))
      if (entry.is_regular_file() &&
          read_text(entry.path()) != read_text(target() / entry.path().lexically_relative(source())))
        return entry.path().filename().string() + " differs";
    return "";
  }

  template <typename Iterator>
  static size_t count(const std::filesystem::path& folder) {
    return static_cast<size_t>(std::distance(Iterator(folder), Iterator()));
  }

  // The size in bytes of the checkpoint's buffer.
  size_t recorded() const {
    std::shared_ptr<Model> model;
    EXPECT_TRUE(Model::open(blob().c_str(), &model).ok());
    return model->segment(model->root().checkpoint()).size();
  }

  std::filesystem::path source() const { return folder_.path() / "source"; }
  std::filesystem::path target() const { return folder_.path() / "target"; }
  std::filesystem::path blob() const { return folder_.path() / "m.ferry"; }

  ScratchFolder folder_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::deque<std::pair<std::string, std::string>> contents_;
};

}  // namespace ferry::export_test
