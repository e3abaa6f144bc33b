// Outputs whose size follows from values: after a run they have their exact shape, without the padding.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "converter/pack/version.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

// x [3,4], size [2] -> the first size[0] rows and size[1] columns of x squared.
std::unique_ptr<Graph> corner() {
  auto graph = std::make_unique<Graph>();
  const Tensor x = graph->add_input("x", {3, 4}, fbs::Layout::Same);
  const Tensor size = graph->add_input("size", {2}, fbs::Layout::Same, fbs::DType::Int32);
  fbs::UnaryT square;
  square.kind = fbs::UnaryKind::Square;
  graph->add_output("corner", graph->add_op("square", square, {x}), fbs::Layout::Same);
  graph->table.outputs.back()->counts = {1, 2};
  for (const int i : {0, 1}) {
    fbs::SliceT slice;
    slice.begin = {i};
    slice.size = {1};
    const std::string name = "size" + std::to_string(i);
    graph->add_output(name, graph->add_op(name, slice, {size}), fbs::Layout::Same, fbs::DType::Int32);
    graph->table.outputs.back()->is_count = true;
  }
  return graph;
}

ferry_tensor output_of(const SessionPtr& session) {
  ferry_tensor tensor;
  EXPECT_OK(ferry_session_output(session.get(), 0, &tensor));
  return tensor;
}

class Corner : public ::testing::TestWithParam<ferry_backend> {};

TEST_P(Corner, HasItsExactShapeAfterEachRun) {
  const Opened opened(*corner());
  EXPECT_EQ(ferry_model_output_count(opened.model), 1u) << "counts are hidden";
  ferry_session_options options = default_options();
  options.backend = GetParam();  // if there is no GPU, the CPU
  const SessionPtr session = make_session(opened.model, options);
  EXPECT_EQ(output_of(session).shape[0], 3) << "before a run, the largest";
  ferry_tensor x, size;
  ASSERT_OK(ferry_session_input(session.get(), 0, &x));
  ASSERT_OK(ferry_session_input(session.get(), 1, &size));
  struct {
    int32_t rows, columns;
    std::vector<float> expected;
  } const kCases[] = {
      {2, 3, {0, 1, 4, 16, 25, 36}},
      {3, 4, {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121}},
      {0, 4, {}},
      {3, 1, {0, 16, 64}},
      {1, 4, {0, 1, 4, 9}},
      {2, 0, {}},
      {-5, 9, {}},  // a count beyond its bounds is cut
      {9, 2, {0, 1, 16, 25, 64, 81}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(::testing::Message() << c.rows << " x " << c.columns);
    for (int i = 0; i < 12; ++i) static_cast<float*>(x.data)[i] = static_cast<float>(i);
    static_cast<int32_t*>(size.data)[0] = c.rows;
    static_cast<int32_t*>(size.data)[1] = c.columns;
    ASSERT_OK(ferry_session_run(session.get()));
    const ferry_tensor corner = output_of(session);
    EXPECT_EQ(corner.shape[0], std::clamp(c.rows, 0, 3));
    EXPECT_EQ(corner.shape[1], std::clamp(c.columns, 0, 4));
    EXPECT_EQ(corner.bytes, c.expected.size() * sizeof(float));
    EXPECT_EQ(elements(corner), c.expected);
  }
  ferry_tensor hidden;
  EXPECT_EQ(ferry_session_output(session.get(), 1, &hidden), FERRY_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(Backends, Corner, ::testing::Values(FERRY_BACKEND_CPU, FERRY_BACKEND_GPU),
                         [](const auto& which) { return which.param == FERRY_BACKEND_GPU ? "gpu" : "cpu"; });

TEST(Counts, NeedFormatVersion4) { EXPECT_EQ(format_version(corner()->table), 4u); }

// The message of opening the graph after `edit`; empty if it opens.
std::string refusal(const std::function<void(fbs::GraphT&)>& edit) {
  Parts parts(pack(*corner()));
  edit(parts.model);
  AlignedBytes blob(parts.assemble());
  ferry_model* model = nullptr;
  const ferry_status status = ferry_model_open_memory(blob.data(), blob.size(), &model);
  ferry_model_close(model);
  EXPECT_TRUE(status == FERRY_OK || status == FERRY_CORRUPT);
  return status == FERRY_OK ? "" : ferry_last_error();
}

TEST(Counts, OfHostileBlobsAreRefused) {
  const auto counts = [](std::vector<int> given) {
    return refusal([&](fbs::GraphT& graph) { graph.outputs[0]->counts = given; });
  };
  EXPECT_EQ(counts({1, 2}), "");
  EXPECT_EQ(counts({-1, 2}), "");
  EXPECT_NE(counts({1}).find("1 counts for 2 dimensions"), std::string::npos) << counts({1});
  EXPECT_NE(counts({1, 3}).find("output 3 is not a count"), std::string::npos) << counts({1, 3});
  EXPECT_NE(counts({0, 1}).find("output 0 is not a count"), std::string::npos) << counts({0, 1});
  EXPECT_NE(counts({-2, 1}).find("output -2 is not a count"), std::string::npos) << counts({-2, 1});
  const auto expect = [](const char* message, const std::function<void(fbs::GraphT&)>& edit) {
    const std::string found = refusal(edit);
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  expect("2 counts for 1 dimensions of a count", [](fbs::GraphT& g) { g.outputs[1]->counts = {1, 2}; });
  expect("output 0: is a count", [](fbs::GraphT& g) { g.outputs[0]->is_count = true; });
  expect("expected counts last", [](fbs::GraphT& g) {
    g.outputs[0]->counts = {1, 1};
    g.outputs[2]->is_count = false;  // behind output 1, which is one
  });
  expect("is also an input, a tap or another output", [](fbs::GraphT& g) {
    g.outputs[1]->tensor = g.outputs[0]->tensor;
    g.outputs[1]->is_count = false;
    g.outputs[0]->counts = {2, 2};
  });
  expect("is also an input, a tap or another output",
         [](fbs::GraphT& g) { g.outputs[0]->tensor = g.inputs[0]->tensor; });
}

}  // namespace
}  // namespace ferry::testing
