// Values that depend only on static inputs are computed once and cached; other runs do not change them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "sdk/graph/session.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

constexpr int kRows = 24, kColumns = 16;
constexpr size_t kElements = size_t{kRows} * kColumns;

class StaticInputsTest : public ::testing::Test {
 protected:
  void open(const Graph& graph) {
    bytes_ = std::make_unique<testing::AlignedBytes>(pack(graph));
    ASSERT_TRUE(Model::open_memory(bytes_->data(), bytes_->size(), &model_).ok());
  }
  std::unique_ptr<Session> make_session() const {
    SessionOptions options;
    options.num_threads = 1;
    std::unique_ptr<Session> session;
    EXPECT_TRUE(Session::create(model_, options, &session).ok());
    return session;
  }
  float* input(const Session& session, unsigned i) const {
    return static_cast<float*>(session.data(model_->graph().inputs()->Get(i)->tensor()));
  }
  std::vector<float> run(Session& session, StaticInputs static_inputs) const {
    const Status status = session.run(static_inputs);
    EXPECT_TRUE(status.ok()) << status.message();
    const TensorId output = model_->graph().outputs()->Get(0)->tensor();
    const auto* values = static_cast<const float*>(session.data(output));
    return {values, values + session.shape(output).elements()};
  }

  std::unique_ptr<testing::AlignedBytes> bytes_;
  std::shared_ptr<Model> model_;
};

// Inputs "last" and "x" [1,24,16]; sums, elementwise functions, transposes and views of earlier values, in any order.
std::unique_ptr<Graph> random_network(uint32_t seed) {
  std::mt19937 random(seed);
  auto made = std::make_unique<Graph>();
  Graph& graph = *made;
  std::vector<Tensor> values = {graph.add_input("last", {1, kRows, kColumns}, fbs::Layout::Same)};
  graph.table.inputs.back()->static_input = true;
  values.push_back(graph.add_input("x", {1, kRows, kColumns}, fbs::Layout::Same));
  for (int i = 0; i < 40; ++i) {
    const Tensor a = values[random() % values.size()], b = values[random() % values.size()];
    switch (random() % 4) {
      case 0: values.push_back((a + b) * 0.5); break;
      case 1: values.push_back(relu(a)); break;
      case 2: values.push_back(softmax(a)); break;
      case 3: values.push_back(reshape(transpose(a, {0, 2, 1}), {1, kRows, kColumns})); break;
    }
  }
  Tensor sum = values.back();
  for (int i = 0; i < 4; ++i) sum = sum + values[random() % values.size()];
  graph.add_output("y", sum, fbs::Layout::Same);
  return made;
}

TEST_F(StaticInputsTest, LaterRunsMatchFullRuns) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    open(*random_network(seed));
    const auto session = make_session(), whole = make_session();
    for (const bool changed : {true, false, false, true, false}) {
      for (const unsigned i : {0u, 1u}) {
        if (i == 0 && !changed) continue;
        std::generate_n(input(*session, i), kElements, [&] { return static_cast<float>(random() % 256) / 256 - 0.5f; });
        std::copy_n(input(*session, i), kElements, input(*whole, i));
      }
      ASSERT_EQ(run(*session, changed ? StaticInputs::Changed : StaticInputs::Unchanged),
                run(*whole, StaticInputs::Changed));
    }
  }
}

// input "last" [1,4], input "x" [1,L,4], L up to 8 -> relu(last) + x
std::unique_ptr<Graph> sum_network() {
  auto made = std::make_unique<Graph>();
  Graph& graph = *made;
  const Tensor last = graph.add_input("last", {1, 4}, fbs::Layout::Same);
  graph.table.inputs.back()->static_input = true;
  const Tensor x = graph.add_input("x", {1, 2, 4}, fbs::Layout::Same);
  graph.table.inputs.back()->bound = {1, 8, 4};
  graph.add_output("y", x + relu(last), fbs::Layout::Same);
  return made;
}

TEST_F(StaticInputsTest, IsRecomputedOnlyAfterAChange) {
  open(*sum_network());
  const auto session = make_session();
  const auto first = [&](StaticInputs static_inputs) { return run(*session, static_inputs).front(); };
  float* last = input(*session, 0);
  last[0] = 3;
  EXPECT_EQ(first(StaticInputs::Unchanged), 3) << "nothing ran before";
  last[0] = 5;
  input(*session, 1)[0] = 1;
  EXPECT_EQ(first(StaticInputs::Unchanged), 4) << "the caller said that it is as it was";
  // Another length of the other input, within the bound, keeps the cached result...
  ASSERT_TRUE(session->resize(1, {1, 7, 4}).ok());
  EXPECT_EQ(first(StaticInputs::Unchanged), 3);
  EXPECT_EQ(first(StaticInputs::Changed), 5);
  // ...but a new plan recomputes it.
  last[0] = 7;
  ASSERT_TRUE(session->resize(1, {1, 9, 4}).ok());
  EXPECT_EQ(first(StaticInputs::Unchanged), 7);
}

TEST_F(StaticInputsTest, ACancelledRunHasNotComputedIt) {
  open(*sum_network());
  const auto session = make_session();
  input(*session, 0)[0] = 3;
  EXPECT_EQ(run(*session, StaticInputs::Changed).front(), 3);
  input(*session, 0)[0] = 5;
  session->begin();
  session->cancel();
  EXPECT_EQ(session->run().code(), FERRY_CANCELLED);
  EXPECT_EQ(run(*session, StaticInputs::Unchanged).front(), 5);
}

}  // namespace
}  // namespace ferry
