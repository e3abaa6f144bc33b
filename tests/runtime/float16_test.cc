// float16 on the CPU: used if supported, and reported by the session.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include "converter/graph/ops.h"
#include "sdk/cpu/backend/features.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

// Mean squared error over the mean square; each of a few layers may add 1e-5 (docs/parity.md).
constexpr double kFloat16Bound = 4e-5;

ferry_session_options float16_options(bool taps = false) {
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.precision = FERRY_PRECISION_FLOAT16;
  options.all_taps = taps;
  return options;
}

ferry_report float16_report(const SessionPtr& session) {
  ferry_report report{};
  report.struct_size = sizeof(report);
  EXPECT_OK(ferry_session_report(session.get(), &report));
  return report;
}

double squared_error(const std::vector<float>& got, const std::vector<double>& expected) {
  double error = 0, square = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - expected[i];
    error += difference * difference;
    square += expected[i] * expected[i];
  }
  return error / square;
}

bool float16s_here() { return cpu::cpu_features().float16; }

class InFloat16 : public ::testing::TestWithParam<std::unique_ptr<Graph> (*)()> {};

TEST_P(InFloat16, NetworksAreWithinTheBoundsOfFloat16) {
  const auto graph = GetParam()();
  Opened opened(*graph);
  for (const bool taps : {false, true}) {
    const SessionPtr session = make_session(opened.model, float16_options(taps));
    fill_inputs(opened.model, session.get());
    std::map<std::string, std::vector<float>> first;
    for (int run = 0; run < 2; ++run) {
      ASSERT_OK(ferry_session_run(session.get()));
      const auto expected = expected_results(*graph, session.get());
      for (const auto& [name, values] : results(opened.model, session.get())) {
        const double error = squared_error(values, expected.at(name));
        EXPECT_LE(error, kFloat16Bound) << graph->table.name << ", " << name;
        EXPECT_TRUE(!float16s_here() || error > 1e-10) << name << " was computed in float32";
      }
      if (run == 0) first = results(opened.model, session.get());
    }
    EXPECT_EQ(results(opened.model, session.get()), first);
  }
}

std::unique_ptr<Graph> deep_network() { return residual_network(8, 20, 32); }

INSTANTIATE_TEST_SUITE_P(Runtime, InFloat16, ::testing::Values(small_classifier, small_upscaler, deep_network));

TEST(Float16, ActivationsAndPackedWeightsTakeHalfTheMemory) {
  if (!float16s_here()) GTEST_SKIP() << "this CPU has no float16 arithmetic";
  const auto graph = residual_network(8, 64, 64);
  uint64_t arena[2], packed[2];
  for (const bool half : {false, true}) {
    Opened opened(*graph);
    ferry_session_options options = float16_options();
    if (!half) options.precision = FERRY_PRECISION_FLOAT32;
    const SessionPtr session = make_session(opened.model, options);
    arena[half] = ferry_session_arena_bytes(session.get());
    packed[half] = ferry_session_packed_bytes(session.get());
  }
  // Everything except the input, which is float32, and tables.
  const uint64_t input = 64 * 64 * 64 * sizeof(float);
  EXPECT_LE(arena[1] - input, (arena[0] - input) * 0.75) << "with the input's float16 copy";
  EXPECT_LE(packed[1], packed[0] * 0.55);
}

TEST(Float16, SessionsSayWhetherTheyHaveIt) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  const SessionPtr session = make_session(opened.model, float16_options());
  const ferry_report report = float16_report(session);
  EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
  if (float16s_here()) {
    EXPECT_EQ(report.precision, FERRY_PRECISION_FLOAT16);
    EXPECT_EQ(report.note_count, 0u);
  } else {
    EXPECT_EQ(report.precision, FERRY_PRECISION_FLOAT32);
    ASSERT_EQ(report.note_count, 1u);
    EXPECT_STREQ(ferry_session_report_note(session.get(), 0),
                 "float32 instead of float16: this CPU has no float16 arithmetic");
  }
}

// Without an operator that has weights, no value becomes float16.
TEST(Float16, NetworksWithoutSuchOperatorsReportIt) {
  if (!float16s_here()) GTEST_SKIP() << "this CPU has no float16 arithmetic";
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 4, 4, 8}, fbs::Layout::Same);
  fbs::UnaryT relu;
  relu.kind = fbs::UnaryKind::Silu;
  graph.add_output("y", graph.add_op("silu", relu, {x}), fbs::Layout::Same);
  Opened opened(graph);
  const SessionPtr session = make_session(opened.model, float16_options());
  EXPECT_EQ(float16_report(session).precision, FERRY_PRECISION_FLOAT32);
  EXPECT_STREQ(ferry_session_report_note(session.get(), 0),
               "float32 instead of float16: no operator of this network computes in float16 on the CPU");
}

TEST(Float16, SessionsFollowOtherSizes) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  const SessionPtr session = make_session(opened.model, float16_options());
  for (const int size : {8, 24, 16}) {
    const int32_t shape[] = {1, size, size, 3};
    ASSERT_OK(ferry_session_resize(session.get(), 0, shape, 4));
    fill_inputs(opened.model, session.get());
    ASSERT_OK(ferry_session_run(session.get()));
    const auto expected = expected_results(*graph, session.get());
    for (const auto& [name, values] : results(opened.model, session.get()))
      EXPECT_LE(squared_error(values, expected.at(name)), kFloat16Bound) << size << ", " << name;
  }
}

}  // namespace
}  // namespace ferry::testing
