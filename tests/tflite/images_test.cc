// How images become the input, and the names of classes.
#include <gtest/gtest.h>

#include "converter/convert.h"
#include "models/families.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"

namespace ferry::testing {
namespace {

// Scores of three classes: the colours of one pixel.
std::string classifier() {
  FileBuilder b;
  const int x = b.input({1, 1, 1, 3}), y = b.activation({1, 3});
  b.op(schema::BuiltinOperator::RESHAPE, {x, b.vector({1, 3})}, {y});
  return b.finish({y});
}

std::unique_ptr<Graph> import_with(const std::filesystem::path& path, const Settings& settings) {
  ConvertOptions options;
  options.checkpoint = path;
  options.settings = settings;
  return convert_to_graph(families(), options);
}

TEST(TfliteImages, ArePreparedByOptions) {
  const ScratchFolder folder;
  Settings settings;
  settings.set("mean", "127.5");
  settings.set("std", "127.5");
  const auto graph = import_with(folder.write("m.tflite", classifier()), settings);
  ASSERT_NE(graph->table.preprocess, nullptr);
  EXPECT_FLOAT_EQ(graph->table.preprocess->mean.at(0), 0.5f);
  EXPECT_TRUE(graph->table.labels.empty());
}

TEST(TfliteImages, ClassesAreNamedByTheArchiveAtTheEnd) {
  const ScratchFolder folder;
  const std::string archive = stored_zip({{"labels.txt", "cat\ndog\r\nfire truck\n"}});
  const auto graph = import_with(folder.write("m.tflite", classifier() + archive), {});
  EXPECT_EQ(graph->table.labels, (std::vector<std::string>{"cat", "dog", "fire truck"}));
  ASSERT_NE(graph->table.postprocess, nullptr);
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Classification);
}

TEST(TfliteImages, NamesOfAnotherNumberOfClassesAreNotUsed) {
  const ScratchFolder folder;
  const std::string archive = stored_zip({{"labels.txt", "cat\ndog\n"}});
  EXPECT_TRUE(import_with(folder.write("m.tflite", classifier() + archive), {})->table.labels.empty());
}

TEST(TfliteImages, SeveralTextsNameNothing) {
  const ScratchFolder folder;
  const std::string archive = stored_zip({{"a.txt", "cat\ndog\nbird\n"}, {"b.txt", "un\ndeux\ntrois\n"}});
  EXPECT_TRUE(import_with(folder.write("m.tflite", classifier() + archive), {})->table.labels.empty());
}

}  // namespace
}  // namespace ferry::testing
