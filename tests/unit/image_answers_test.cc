// From an image to an answer through the C API: the blob's preprocessing and postprocessing.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

class Answers : public ::testing::Test {
 protected:
  void open(const Graph& graph) {
    bytes_ = std::make_unique<testing::AlignedBytes>(pack(graph));
    ASSERT_EQ(ferry_model_open_memory(bytes_->data(), bytes_->size(), &model_), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(ferry_session_create(model_, nullptr, &session_), FERRY_OK) << ferry_last_error();
  }
  void run(int width, int height) {
    pixels_.resize(static_cast<size_t>(width * height * 3));
    for (size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = static_cast<uint8_t>(i * 7 + i / 13);
    const ferry_image image{pixels_.data(), width, height, 3 * width, false};
    ASSERT_EQ(ferry_session_set_image(session_, &image), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(ferry_session_run(session_), FERRY_OK) << ferry_last_error();
  }
  void TearDown() override {
    ferry_session_close(session_);
    ferry_model_close(model_);
  }

  std::unique_ptr<testing::AlignedBytes> bytes_;
  std::vector<uint8_t> pixels_;
  ferry_model* model_ = nullptr;
  ferry_session* session_ = nullptr;
};

std::unique_ptr<Graph> embedder(bool unit_length) {
  auto graph = testing::small_classifier();
  graph->table.postprocess->task = fbs::Task::Embedding;
  graph->table.postprocess->unit_length = unit_length;
  return graph;
}

TEST_F(Answers, AnEmbeddingIsTheOutputOrOfLengthOne) {
  for (const bool unit_length : {false, true}) {
    open(*embedder(unit_length));
    run(20, 14);
    ferry_tensor output;
    ASSERT_EQ(ferry_session_output(session_, 0, &output), FERRY_OK);
    const auto* raw = static_cast<const float*>(output.data);
    size_t count = 0;
    ASSERT_EQ(ferry_session_embedding(session_, nullptr, &count), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(count, 5u);
    float embedding[5];
    ASSERT_EQ(ferry_session_embedding(session_, embedding, &count), FERRY_OK) << ferry_last_error();
    double length = 0;
    for (int i = 0; i < 5; ++i) length += double{raw[i]} * raw[i];
    length = unit_length ? std::sqrt(length) : 1.0;
    EXPECT_NE(raw[0], 0.0f);
    for (int i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(embedding[i], static_cast<float>(raw[i] / length));
    TearDown();
    session_ = nullptr;
    model_ = nullptr;
  }
}

TEST_F(Answers, TooLittleRoomForAnEmbeddingIsRefusedWithBothNumbers) {
  open(*embedder(false));
  run(20, 14);
  float embedding[4];
  size_t count = 4;
  EXPECT_EQ(ferry_session_embedding(session_, embedding, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "room for 4 elements, the embedding has 5");
  EXPECT_EQ(count, 5u);
}

TEST_F(Answers, RequireARun) {
  ferry_class top[5];
  float embedding[5];
  size_t count = 5;
  open(*testing::small_classifier());
  EXPECT_EQ(ferry_session_top_classes(session_, top, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "call ferry_session_run() first");
  run(20, 14);
  count = 5;
  EXPECT_EQ(ferry_session_top_classes(session_, top, &count), FERRY_OK) << ferry_last_error();
  TearDown();
  open(*embedder(false));
  EXPECT_EQ(ferry_session_embedding(session_, embedding, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "call ferry_session_run() first");
}

// A batch returns the same as its images one by one.
TEST_F(Answers, ABatchHasAPlaceForEachImageAndAnAnswerOfEach) {
  open(*testing::small_classifier());
  std::vector<uint8_t> pixels(size_t{3} * 20 * 14 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 11 + i * 5);
  const auto image = [&](size_t i) { return ferry_image{&pixels[i * 20 * 14 * 3], 20, 14, 60, false}; };
  ferry_class alone[3], together;
  size_t count = 1;
  for (size_t i = 0; i < 3; ++i) {
    const ferry_image view = image(i);
    ASSERT_EQ(ferry_session_set_image(session_, &view), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(ferry_session_run(session_), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(ferry_session_top_classes_at(session_, 0, &alone[i], &count), FERRY_OK) << ferry_last_error();
  }
  ASSERT_NE(alone[0].probability, alone[1].probability);

  ferry_tensor input;
  ASSERT_EQ(ferry_session_input(session_, 0, &input), FERRY_OK);
  input.shape[0] = 3;
  ASSERT_EQ(ferry_session_resize(session_, 0, input.shape, 4), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(ferry_session_top_classes_at(session_, 0, &together, &count), FERRY_INVALID_ARGUMENT);  // of another shape
  for (const size_t i : {2u, 0u, 1u}) {
    const ferry_image view = image(i);
    ASSERT_EQ(ferry_session_set_image_at(session_, i, &view), FERRY_OK) << ferry_last_error();
  }
  ASSERT_EQ(ferry_session_run(session_), FERRY_OK) << ferry_last_error();
  for (size_t i = 0; i < 3; ++i) {
    count = 1;
    ASSERT_EQ(ferry_session_top_classes_at(session_, i, &together, &count), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(together.index, alone[i].index);
    EXPECT_FLOAT_EQ(together.probability, alone[i].probability);
  }
  const ferry_image view = image(0);
  const auto says = [](const char* words) { return std::string(ferry_last_error()).find(words) != std::string::npos; };
  EXPECT_EQ(ferry_session_set_image(session_, &view), FERRY_INVALID_ARGUMENT);
  EXPECT_TRUE(says("takes 3 image(s): call ferry_session_set_image_at()")) << ferry_last_error();
  EXPECT_EQ(ferry_session_set_image_at(session_, 3, &view), FERRY_INVALID_ARGUMENT);
  EXPECT_TRUE(says("takes 3 image(s)")) << ferry_last_error();
  EXPECT_EQ(ferry_session_top_classes(session_, &together, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_TRUE(says("of 3 images: name one with ..._at()")) << ferry_last_error();
  EXPECT_EQ(ferry_session_top_classes_at(session_, 3, &together, &count), FERRY_INVALID_ARGUMENT);
}

TEST_F(Answers, ChannelsFirstShapesGetAHint) {
  open(*testing::small_classifier());
  ferry_tensor input;
  ASSERT_EQ(ferry_session_input(session_, 0, &input), FERRY_OK);
  const int32_t first[] = {1, 3, input.shape[1], input.shape[2]};
  EXPECT_NE(ferry_session_resize(session_, 0, first, 4), FERRY_OK);
  const std::string said = ferry_last_error();
  EXPECT_NE(said.find("; it is [N,H,W,C] here"), said.npos) << said;
  const int32_t bad[] = {1, 1, 1, 5};
  EXPECT_NE(ferry_session_resize(session_, 0, bad, 4), FERRY_OK);
  EXPECT_EQ(std::string(ferry_last_error()).find("[N,H,W,C]"), std::string::npos) << ferry_last_error();
}

#if defined(FERRY_CHECK_HANDLES)
TEST_F(Answers, AHandleThatWasClosedIsRefused) {
  open(*testing::small_classifier());
  ferry_session_close(session_);
  EXPECT_EQ(ferry_session_run(session_), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "ferry_session_run: session was closed before, or never opened");
  ferry_session_close(session_);
  EXPECT_STREQ(ferry_last_error(), "ferry_session_close: the handle was closed before, or never opened");
  session_ = nullptr;
  ferry_model_close(model_);
  ferry_tensor input;
  EXPECT_EQ(ferry_model_input(model_, 0, &input), FERRY_INVALID_ARGUMENT);
  model_ = nullptr;
}
#endif

TEST_F(Answers, ClassesAndEmbeddingsAreNotMistakenForEachOther) {
  ferry_class top[5];
  float embedding[5];
  size_t count = 5;
  open(*embedder(false));
  EXPECT_EQ(ferry_session_top_classes(session_, top, &count), FERRY_INVALID_ARGUMENT);
  TearDown();
  open(*testing::small_classifier());
  count = 5;
  EXPECT_EQ(ferry_session_embedding(session_, embedding, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(count, 0u);
}

TEST_F(Answers, MultiLabelClassesHaveIndependentProbabilities) {
  auto graph = testing::small_classifier();
  graph->table.postprocess->task = fbs::Task::MultiLabel;
  open(*graph);
  run(20, 14);
  ferry_tensor output;
  ASSERT_EQ(ferry_session_output(session_, 0, &output), FERRY_OK);
  ferry_class top[5];
  size_t count = 5;
  ASSERT_EQ(ferry_session_top_classes(session_, top, &count), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(count, 5u);
  for (const ferry_class& c : top) {
    const double logit = static_cast<const float*>(output.data)[c.index];
    EXPECT_FLOAT_EQ(c.probability, static_cast<float>(1 / (1 + std::exp(-logit))));
    EXPECT_STRNE(c.label, "");
  }
}

TEST_F(Answers, AnImageCutIntoPatchesPlansTheSessionForTheirNumber) {
  Graph graph;
  const Tensor patches = graph.add_input("pixel_values", {4, 24}, fbs::Layout::Same);
  graph.add_output("output", graph.add_op("softmax", fbs::SoftmaxT(), {patches}), fbs::Layout::Same);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  fbs::PreprocessT& recipe = *graph.table.preprocess;
  recipe.resize_mode = fbs::ResizeMode::PixelBudget;
  recipe.max_pixels = 1 << 20;
  recipe.patch = recipe.patch_frames = 2;
  recipe.multiple_of = 2;
  open(graph);
  run(6, 10);
  ferry_tensor input;
  ASSERT_EQ(ferry_session_input(session_, 0, &input), FERRY_OK);
  EXPECT_EQ(input.shape[0], 15);
  EXPECT_EQ(input.shape[1], 24);
  // The second patch: red of pixels 2 and 3 of the first rows, twice, then green.
  const auto level = [&](int x, int y, int c) { return pixels_[static_cast<size_t>((y * 6 + x) * 3 + c)] / 255.0f; };
  const float expected[] = {level(2, 0, 0), level(3, 0, 0), level(2, 1, 0), level(3, 1, 0), level(2, 0, 0),
                            level(3, 0, 0), level(2, 1, 0), level(3, 1, 0), level(2, 0, 1)};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(static_cast<const float*>(input.data)[24 + i], expected[i]) << i;
  // Rows of another length have no room for patches.
  const int32_t narrow[] = {15, 3};
  ASSERT_EQ(ferry_session_resize(session_, 0, narrow, 2), FERRY_OK) << ferry_last_error();
  const ferry_image image{pixels_.data(), 6, 10, 18, false};
  EXPECT_EQ(ferry_session_set_image(session_, &image), FERRY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ferry
