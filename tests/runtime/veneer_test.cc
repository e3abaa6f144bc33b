// ferry.hpp: handles that move and close themselves, errors as values, empty handles that do not crash. Compiled
// without exceptions and RTTI. No internal header may be included here: names in namespace ferry would clash.
#include <gtest/gtest.h>
#include <ferry/ferry.hpp>
#include <ferry/text.hpp>

#include <unistd.h>
#include <cstdio>
#include <type_traits>

#include "tests/runtime/examples.h"

namespace {

static_assert(!std::is_copy_constructible_v<ferry::Model> && std::is_nothrow_move_constructible_v<ferry::Model>);
static_assert(!std::is_copy_constructible_v<ferry::Session> && std::is_nothrow_move_assignable_v<ferry::Session>);
static_assert(!std::is_copy_constructible_v<ferry::Task> && std::is_nothrow_move_assignable_v<ferry::Task>);
static_assert(!std::is_copy_constructible_v<ferry::Image> && std::is_nothrow_move_assignable_v<ferry::Image>);

class Veneer : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "ferry-veneer-" + std::to_string(::getpid()) + ".ferry";
    write_classifier(path_.c_str());
    ferry::Result<ferry::Model> opened = ferry::Model::open(path_.c_str());
    ASSERT_TRUE(opened) << opened.error();
    model_ = std::move(opened).value();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_;
  ferry::Model model_;
};

TEST_F(Veneer, VerifiesCertifiedModels) {
  const ferry::Result<ferry_verification> verification = model_.verify();
  EXPECT_FALSE(verification);
  EXPECT_EQ(verification.status().code(), FERRY_NOT_FOUND);
}

TEST_F(Veneer, DescribesAModel) {
  EXPECT_STREQ(model_.name(), "small_classifier");
  ASSERT_EQ(model_.inputs().size(), 1u);
  EXPECT_STREQ(model_.inputs()[0].name, "input");
  EXPECT_EQ(model_.inputs()[0].size(), 0u) << "a description has no elements";
  EXPECT_EQ(model_.outputs().size(), 1u);
  EXPECT_EQ(model_.taps().size(), 3u);
  EXPECT_EQ(model_.label_count(), 5u);
  EXPECT_STREQ(model_.label(1), "ferry");
}

TEST_F(Veneer, RunsWithOptionsTapsAndProfile) {
  const char* taps[] = {"features"};
  ferry::SessionOptions options;
  options.num_threads = 1;
  options.cores = FERRY_CORES_EFFICIENT;
  options.taps = taps;
  options.tap_count = 1;
  options.profile = true;
  ferry::Result<ferry::Session> session = model_.session(options);
  ASSERT_TRUE(session) << session.error();
  ferry::Tensor input = session->input(0);
  ASSERT_EQ(input.size(), 8u * 8 * 3);
  std::vector<float> source(input.size());
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i % 5);
  ASSERT_TRUE(input.write_source(source));
  EXPECT_EQ(input[1], source[64]) << "the second channel of the first pixel";
  EXPECT_EQ(input.read_source().value(), source);

  ferry::Status run = session->run();
  ASSERT_TRUE(run) << run.error();
  EXPECT_EQ(run.code(), FERRY_OK);
  EXPECT_EQ(run.error(), "");
  EXPECT_EQ(session->output(0).size(), 5u);
  EXPECT_TRUE(session->tap("features"));
  EXPECT_EQ(session->tap("pooled").code(), FERRY_NOT_FOUND);
  EXPECT_EQ(session->profile().empty(), false);
  EXPECT_EQ(session->report().backend, FERRY_BACKEND_CPU);
  EXPECT_TRUE(session->notes().empty());
  EXPECT_GT(session->arena_bytes(), 0u);
  EXPECT_GT(session->packed_bytes(), 0u);
  EXPECT_TRUE(session->resize(0, {2, 16, 16, 3}));
  EXPECT_EQ(session->output(0).shape[0], 2);
}

TEST_F(Veneer, RunsWithoutWaiting) {
  ferry::Result<ferry::Session> session = model_.session();
  ASSERT_TRUE(session) << session.error();
  for (float& value : session->input(0)) value = 0.5f;
  ASSERT_TRUE(session->run());
  const ferry::Tensor output = session->output(0);
  const std::vector<float> expected(output.begin(), output.end());
  for (float& value : output) value = 0;

  ferry_status ended = FERRY_BACKEND_ERROR;
  const auto note = [](ferry_session*, ferry_status status, void* user) { *static_cast<ferry_status*>(user) = status; };
  ferry::Status run = session->run_async(note, &ended);
  ASSERT_TRUE(run) << run.error();
  run = session->wait();
  ASSERT_TRUE(run) << run.error();
  EXPECT_EQ(ended, FERRY_OK);
  EXPECT_EQ(std::vector<float>(output.begin(), output.end()), expected);
  ASSERT_TRUE(session->run_async());
  EXPECT_TRUE(session->wait());
}

TEST_F(Veneer, FailuresHaveCodeAndMessage) {
  const ferry::Result<ferry::Model> absent = ferry::Model::open("absent.ferry");
  EXPECT_FALSE(absent);
  EXPECT_EQ(absent.code(), FERRY_IO_ERROR);
  EXPECT_NE(absent.error().find("absent.ferry"), std::string::npos) << absent.error();
  EXPECT_EQ(absent.status().error(), absent.error());

  ferry::Result<ferry::Session> session = model_.session();
  ASSERT_TRUE(session);
  const ferry::Status refused = session->resize(0, {1, 8, 8, 4});
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.code(), FERRY_SHAPE_MISMATCH);
  EXPECT_EQ(session->output(3).size(), 0u);
  EXPECT_EQ(session->output(3).data, nullptr);
}

TEST_F(Veneer, EmptyHandlesFailAndDoNotCrash) {
  ferry::Model model;
  EXPECT_STREQ(model.name(), "");
  EXPECT_TRUE(model.inputs().empty());
  EXPECT_EQ(model.session().code(), FERRY_INVALID_ARGUMENT);
  ferry::Session session;
  EXPECT_EQ(session.run().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(session.run_async().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(session.wait().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(session.input(0).size(), 0u);
  EXPECT_EQ(session.tap("x").code(), FERRY_INVALID_ARGUMENT);
  EXPECT_TRUE(session.profile().empty());
  EXPECT_EQ(session.report().message, nullptr);
  session.cancel();
  EXPECT_EQ(ferry::Generator::create(model).code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(ferry::Text::open(model).code(), FERRY_INVALID_ARGUMENT);
  const ferry::Text text;
  EXPECT_EQ(text.encode("a").code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(text.decode({1}).code(), FERRY_INVALID_ARGUMENT);
  ferry::Generator generator;
  EXPECT_EQ(generator.append("a").code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(generator.next().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(generator.reset().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(generator.save("x").code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(generator.load("x").code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(generator.note(), "");
  EXPECT_EQ(generator.text(), "");
  EXPECT_EQ(generator.max_length(), 0u);
  generator.cancel();
  ferry::Task task;
  task.cancel();
  const ferry::Image image;
  EXPECT_EQ(task.run(image).code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(model.task().code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(model.task_info().name, nullptr);
  EXPECT_EQ(session.set_image(image).code(), FERRY_INVALID_ARGUMENT);
  EXPECT_FALSE(image.save_png("never.png"));
}

TEST_F(Veneer, TakesFrames) {
  ferry::Result<ferry::Session> session = model_.session();
  ASSERT_TRUE(session) << session.error();
  const std::vector<uint8_t> gray(40 * 30, 51);
  ferry::Frame frame(FERRY_FRAME_GRAY, 40, 30);
  EXPECT_FALSE(session->set_frame(frame)) << "it has no plane";
  frame.set_plane(0, gray.data(), gray.size());
  frame.rotation = 90;
  ASSERT_TRUE(session->set_frame(frame)) << ferry_last_error();
  ferry::Result<ferry::Task> task = model_.task();
  ASSERT_TRUE(task) << task.error();
  ferry::Result<ferry::Answer> answer = task->run(frame);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_FALSE(answer->all_classes().empty());
}

TEST_F(Veneer, AnswersAsATask) {
  EXPECT_EQ(model_.task_info().answer, FERRY_ANSWER_CLASSES);
  ferry::Task task = model_.task().value();
  std::vector<uint8_t> pixels(20 * 15 * 3, 90);
  const ferry_image image = {pixels.data(), 20, 15, 60, false};
  ferry::Request request;
  request.image = &image;
  request.top = 2;
  ferry::Result<ferry::Answer> answer = task.run(request);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ(answer->all_classes().size(), 2u);
  for (const ferry_class& c : answer->all_classes()) EXPECT_STRNE(c.label, "");
  EXPECT_TRUE(answer->all_vector().empty());
  EXPECT_TRUE(answer->all_labels().empty());
  EXPECT_TRUE(answer->all_mask().empty());
  EXPECT_FALSE(answer->save("never.png"));
}

TEST_F(Veneer, HandlesMoveAndTheModelMayGoFirst) {
  ferry::Session session = model_.session().value();
  ferry_session* const handle = session.get();
  ferry::Session moved = std::move(session);
  EXPECT_EQ(moved.get(), handle);
  EXPECT_EQ(session.get(), nullptr);  // NOLINT: what a move leaves behind is part of the promise
  model_ = ferry::Model();
  EXPECT_TRUE(moved.run());
  ferry::Session assigned;
  assigned = std::move(moved);
  EXPECT_TRUE(assigned.run());
}

}  // namespace
