// How images become the input, and the names of classes.
#include <gtest/gtest.h>

#include "converter/convert.h"
#include "models/families.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tflite_metadata_generated.h"

namespace ferry::testing {
namespace {

// Scores of three classes: the colours of one pixel.
std::string classifier(const flatbuffers::FlatBufferBuilder* metadata = nullptr) {
  FileBuilder b;
  if (metadata != nullptr) b.metadata(*metadata);
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

// A map of the colours: of one, through a sigmoid; of three, the number of the largest.
std::string map_of(int channels) {
  FileBuilder b;
  const int x = b.input({1, 4, 4, channels});
  const int y = channels == 1 ? b.activation({1, 4, 4, 1}) : b.activation({1, 4, 4}, schema::TensorType::INT32);
  if (channels == 1)
    b.op(schema::BuiltinOperator::LOGISTIC, {x}, {y});
  else
    b.op(schema::BuiltinOperator::ARG_MAX, {x, b.scalar(3)}, {y}, schema::BuiltinOptions::ArgMaxOptions,
         schema::CreateArgMaxOptions(b.fbb, schema::TensorType::INT32).Union());
  return b.finish({y});
}

Settings for_task(const char* task) {
  Settings settings;
  settings.set("task", task);
  settings.set("mean", "0");
  settings.set("std", "1");
  return settings;
}

TEST(TfliteTasks, TakeOffWhatTheyDoThemselves) {
  const ScratchFolder folder;
  const auto matte = import_with(folder.write("m.tflite", map_of(1)), for_task("matting"));
  EXPECT_EQ(matte->table.postprocess->task, fbs::Task::Matting);
  const auto classes = import_with(folder.write("m.tflite", map_of(3)), for_task("segmentation"));
  EXPECT_EQ(classes->table.postprocess->task, fbs::Task::SemanticSegmentation);
  for (const Graph* graph : {matte.get(), classes.get()}) {
    const auto& ops = graph->table.operators;  // a copy of the input
    ASSERT_EQ(ops.size(), 1u);
    EXPECT_EQ(ops.front()->params.type, fbs::OpParams::Reshape);
  }
}

TEST(TfliteTasks, SayWhatDoesNotFit) {
  const ScratchFolder folder;
  const auto why = [&](int channels, const Settings& settings) -> std::string {
    try {
      import_with(folder.write("m.tflite", map_of(channels)), settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(why(3, for_task("matting")).find("expected a map [1,H,W,1]"), std::string::npos);
  EXPECT_NE(why(1, for_task("segmentation")).find("expected a map [1,H,W,classes]"), std::string::npos);
  Settings no_image;
  no_image.set("task", "matting");
  EXPECT_NE(why(1, no_image).find("nothing says how an image becomes the input"), std::string::npos);
}

// Metadata with a normalisation and, for the output, a file of classes.
flatbuffers::FlatBufferBuilder metadata_of(const std::vector<float>& mean, const std::vector<float>& deviation,
                                           const std::string& labels) {
  namespace md = tflite::metadata;
  flatbuffers::FlatBufferBuilder b;
  const auto unit =
      md::CreateProcessUnit(b, md::ProcessUnitOptions::Normalization,
                            md::CreateNormalization(b, b.CreateVector(mean), b.CreateVector(deviation)).Union());
  const auto file = md::CreateAssociatedFile(b, b.CreateString(labels), 0, md::FileType::AxisLabels);
  const auto input = md::CreateTensor(b, b.CreateString("image"), 0, 0, 0, b.CreateVector(&unit, 1));
  const auto output = md::CreateTensor(b, b.CreateString("scores"), 0, 0, 0, 0, 0, b.CreateVector(&file, 1));
  const auto graph = md::CreateSubgraph(b, 0, 0, b.CreateVector(&input, 1), b.CreateVector(&output, 1));
  md::FinishModelBuffer(b, md::CreateModel(b, 0, 0, 0, b.CreateVector(&graph, 1)));
  return b;
}

TEST(TfliteImages, ArePreparedAsTheMetadataSays) {
  const ScratchFolder folder;
  const flatbuffers::FlatBufferBuilder metadata = metadata_of({127.5f}, {127.5f}, "b.txt");
  const std::string archive = stored_zip({{"a.txt", "x\ny\n"}, {"b.txt", "un\ndeux\ntrois\n"}});
  const auto graph = import_with(folder.write("m.tflite", classifier(&metadata) + archive), {});
  ASSERT_NE(graph->table.preprocess, nullptr);
  EXPECT_FLOAT_EQ(graph->table.preprocess->mean.at(0), 0.5f);
  EXPECT_FLOAT_EQ(graph->table.preprocess->std.at(0), 0.5f);
  EXPECT_EQ(graph->table.labels, (std::vector<std::string>{"un", "deux", "trois"}));
  Settings settings;
  settings.set("mean", "0");
  settings.set("std", "255");
  const auto other = import_with(folder.write("m.tflite", classifier(&metadata) + archive), settings);
  EXPECT_FLOAT_EQ(other->table.preprocess->mean.at(0), 0);
}

// Levels as they are: a mean of 0 and a deviation of 1.
TEST(TfliteImages, MayBeLevels) {
  const ScratchFolder folder;
  const flatbuffers::FlatBufferBuilder metadata = metadata_of({0}, {1}, "");
  const auto graph = import_with(folder.write("m.tflite", classifier(&metadata)), {});
  ASSERT_NE(graph->table.preprocess, nullptr);
  EXPECT_FLOAT_EQ(graph->table.preprocess->std.at(0), 1.0f / 255);
}

TEST(TfliteImages, DamagedMetadataSaysNothing) {
  const ScratchFolder folder;
  const flatbuffers::FlatBufferBuilder metadata = metadata_of({127.5f}, {0}, "");  // no deviation
  EXPECT_EQ(import_with(folder.write("m.tflite", classifier(&metadata)), {})->table.preprocess, nullptr);
  flatbuffers::FlatBufferBuilder nothing;
  nothing.Finish(nothing.CreateString("no metadata"));
  EXPECT_EQ(import_with(folder.write("m.tflite", classifier(&nothing)), {})->table.preprocess, nullptr);
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
