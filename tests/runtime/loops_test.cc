// Loops: a LoopBegin, the operators that it repeats, and a LoopEnd.
#include <atomic>
#include <thread>

#include "converter/graph/elementary.h"
#include "converter/reference/interpreter.h"
#include "tests/runtime/networks.h"
#include "tests/support/loop_network.h"

namespace ferry::testing {
namespace {

void fill(const SessionPtr& session, int32_t count) {
  ferry_tensor x, steps;
  ASSERT_OK(ferry_session_input(session.get(), 0, &x));
  ASSERT_OK(ferry_session_input(session.get(), 1, &steps));
  for (uint32_t i = 0; i < 20; ++i) static_cast<float*>(x.data)[i] = noise(7, i);
  static_cast<int32_t*>(steps.data)[0] = count;
}

// Every output, as float.
std::vector<std::vector<float>> outputs_of(const Opened& opened, const SessionPtr& session) {
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < ferry_model_output_count(opened.model); ++i) {
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_output(session.get(), i, &tensor));
    if (i > 0)
      all.push_back(elements(tensor));
    else
      all.push_back({static_cast<float>(static_cast<const int32_t*>(tensor.data)[0])});
  }
  return all;
}

std::vector<std::vector<double>> expected(const Graph& graph, int32_t count) {
  reference::Array x{{5, 4}, {}}, steps{{1}, {static_cast<double>(count)}, fbs::DType::Int32};
  for (uint32_t i = 0; i < 20; ++i) x.values.push_back(static_cast<double>(noise(7, i)));
  const auto values = reference::interpret(graph, {x, steps});
  std::vector<std::vector<double>> all;
  for (const auto& port : graph.table.outputs) all.push_back(values.at(port->tensor).values);
  return all;
}

TEST(Loops, ComputeWhatTheReferenceDoes) {
  const std::unique_ptr<Graph> graph = loop_network();
  const Opened opened(*graph);
  for (const int threads : {1, 3}) {
    const SessionPtr session = make_session(opened.model, threads);
    for (const int32_t count : {5, 1, 0, 3, -1, 2}) {
      SCOPED_TRACE(::testing::Message() << count << " steps, " << threads << " threads");
      fill(session, count);
      ASSERT_OK(ferry_session_run(session.get()));
      const auto ours = outputs_of(opened, session);
      const auto right = expected(*graph, count);
      EXPECT_EQ(ours[0][0], right[0][0]);
      EXPECT_EQ(ours[0][0], static_cast<float>(count < 0 ? 5 : count));
      for (size_t i = 1; i < ours.size(); ++i) EXPECT_LE(relative_error(ours[i], right[i]), 1e-6) << "output " << i;
    }
  }
}

TEST(Loops, EndWhenTheConditionFails) {
  const std::unique_ptr<Graph> graph = loop_network();
  const Opened opened(*graph);
  const SessionPtr session = make_session(opened.model);
  fill(session, 5);
  ferry_tensor x;
  ASSERT_OK(ferry_session_input(session.get(), 0, &x));
  std::fill_n(static_cast<float*>(x.data), 4, 20.0f);  // half of the first row is added in each step
  ASSERT_OK(ferry_session_run(session.get()));
  const auto ours = outputs_of(opened, session);
  EXPECT_GE(ours[0][0], 1);
  ASSERT_LT(ours[0][0], 5);
  const auto rows = static_cast<size_t>(ours[0][0]);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(ours[3][i] == 0, i >= 4 * rows) << "row element " << i;
}

TEST(Loops, OfMoreStepsThanRowsEndTheRun) {
  const Opened opened(*loop_network());
  const SessionPtr session = make_session(opened.model);
  fill(session, 6);
  EXPECT_EQ(ferry_session_run(session.get()), FERRY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ferry_last_error()).find("a loop of 6 steps, at most 5 can be computed"), std::string::npos)
      << ferry_last_error();
}

TEST(Loops, OfAGpuSessionRunOnTheCpu) {
  const Opened opened(*loop_network());
  ferry_session_options options = default_options();
  options.backend = FERRY_BACKEND_GPU;
  const SessionPtr session = make_session(opened.model, options);
  fill(session, 4);
  ASSERT_OK(ferry_session_run(session.get()));
  const SessionPtr on_cpu = make_session(opened.model);
  fill(on_cpu, 4);
  ASSERT_OK(ferry_session_run(on_cpu.get()));
  EXPECT_EQ(outputs_of(opened, session), outputs_of(opened, on_cpu));
  options.gpu_required = true;
  ferry_session* refused = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, &options, &refused), FERRY_GPU_UNAVAILABLE);
}

TEST(Loops, InFloat16AgreeWithFloat32) {
  const std::unique_ptr<Graph> graph = loop_network();
  const Opened opened(*graph);
  ferry_session_options options = default_options();
  options.precision = FERRY_PRECISION_FLOAT16;
  const SessionPtr session = make_session(opened.model, options);
  fill(session, 5);
  ASSERT_OK(ferry_session_run(session.get()));
  const auto ours = outputs_of(opened, session);
  const auto right = expected(*graph, 5);
  for (size_t i = 1; i < ours.size(); ++i) EXPECT_LE(relative_error(ours[i], right[i]), 1e-2) << "output " << i;
}

// x, doubled for ever.
TEST(Loops, WithoutAnEndAreCancelled) {
  Graph graph;
  const Tensor x = graph.add_input("x", {2}, fbs::Layout::Same);
  const Tensor all = graph.add_constant("all", Shape{1}, std::vector<int32_t>{-1});
  const Tensor on = graph.add_constant("on", Shape{1}, std::vector<int32_t>{1});
  fbs::LoopBeginT begin;
  begin.unlimited = true;
  const auto now = graph.add_op_with_outputs("loop", begin, {all, all, x}, 2);
  fbs::LoopEndT end;
  end.unlimited = true;
  end.states = 1;
  const Tensor next = binary(fbs::BinaryKind::Add, now[1], now[1]);
  const auto after = graph.add_op_with_outputs("loop", end, {all, now[0], all, on, now[1], next}, 2);
  graph.add_output("y", after[1], fbs::Layout::Same);
  const Opened opened(graph);
  const SessionPtr session = make_session(opened.model);
  std::atomic<bool> ended{false};
  std::thread other([&] {
    while (!ended) ferry_session_cancel(session.get());
  });
  EXPECT_EQ(ferry_session_run(session.get()), FERRY_CANCELLED);
  ended = true;
  other.join();
}

}  // namespace
}  // namespace ferry::testing
