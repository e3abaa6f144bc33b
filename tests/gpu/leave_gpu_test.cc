// What an app sees of a session when its GPU is lost or cannot resize: addresses, contents, taps, times.
#include <ferry/ferry.h>

#include "tests/gpu/faults.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

class LeaveGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  ferry_session_options on_gpu(const std::string& name) const {
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = name.c_str();
    options.gpu_retry = true;
    options.gpu_required = true;  // for creating the session, not for its runs
    options.num_threads = 1;
    return options;
  }
  static ferry_report report_of(const SessionPtr& session) {
    ferry_report report{};
    report.struct_size = sizeof report;
    EXPECT_OK(ferry_session_report(session.get(), &report));
    return report;
  }

  Faults faults_;
};

// Two independent inputs, of any height.
std::unique_ptr<Graph> two_lanes() {
  auto graph = std::make_unique<Graph>();
  for (const char* name : {"a", "b"}) {
    const Tensor x = graph->add_input(name, {1, 4, 6}, fbs::Layout::Same);
    fbs::UnaryT square;
    square.kind = fbs::UnaryKind::Square;
    graph->add_output(std::string(name) + "_squared", graph->add_op(name, square, {x}), fbs::Layout::Same);
  }
  graph->table.name = "two_lanes";
  return graph;
}

TEST_F(LeaveGpu, AddressesStayValidThroughALoss) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    ferry_session_options options = on_gpu(gpu);
    options.all_taps = true;
    options.profile = true;
    SessionPtr session = make_session(opened.model, options);
    ASSERT_NE(session, nullptr);
    ferry_tensor input, output, tap;
    ASSERT_OK(ferry_session_input(session.get(), 0, &input));
    ASSERT_OK(ferry_session_output(session.get(), 0, &output));
    ASSERT_OK(ferry_session_tap(session.get(), "features", &tap));
    for (uint32_t run = 0; run < 4; ++run) {
      for (size_t k = 0; k < input.bytes / sizeof(float); ++k)
        static_cast<float*>(input.data)[k] = noise(run, static_cast<uint32_t>(k));
      const std::vector<float> given = elements(input);
      if (run == 1) faults_.arm(0, VK_ERROR_DEVICE_LOST);
      ASSERT_OK(ferry_session_run(session.get()));
      EXPECT_EQ(report_of(session).backend, run == 0 ? FERRY_BACKEND_GPU : FERRY_BACKEND_CPU);
      EXPECT_EQ(elements(input), given);
      const auto expected = expected_results(*graph, session.get());
      EXPECT_LE(relative_error(elements(output), expected.at("output logits")), 1e-5) << "run " << run;
      EXPECT_LE(relative_error(elements(tap), expected.at("tap features")), 1e-5) << "run " << run;
      for (const auto& [name, values] : results(opened.model, session.get()))
        EXPECT_LE(relative_error(values, expected.at(name)), 1e-5) << name << ", run " << run;
      ferry_profile_entry entry;
      ASSERT_OK(ferry_session_profile(session.get(), 0, &entry));
      EXPECT_STREQ(entry.backend, run == 0 ? "gpu" : "cpu");
      EXPECT_GT(entry.microseconds, 0);
    }
    ferry_tensor again;
    ASSERT_OK(ferry_session_output(session.get(), 0, &again));
    EXPECT_EQ(again.data, output.data);
    EXPECT_EQ(report_of(session).gpu_operators, 0u);
    EXPECT_EQ(report_of(session).cpu_operators, graph->table.operators.size());
    EXPECT_STREQ(report_of(session).device, "");
    faults_.disarm();
  }
}

TEST_F(LeaveGpu, AResizeAfterALossKeepsTheOtherInputAndForgetsTheGpu) {
  const auto graph = two_lanes();
  Opened opened(*graph);
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    SessionPtr session = make_session(opened.model, on_gpu(gpu));
    ASSERT_NE(session, nullptr);
    faults_.arm(0, VK_ERROR_DEVICE_LOST);
    ASSERT_OK(ferry_session_run(session.get()));
    EXPECT_EQ(report_of(session).gpu_status, FERRY_GPU_LOST);
    fill_inputs(opened.model, session.get());  // after the loss
    ferry_tensor b;
    ASSERT_OK(ferry_session_input(session.get(), 1, &b));
    const std::vector<float> kept = elements(b);
    const uint64_t both = ferry_session_arena_bytes(session.get());
    const int32_t shape[] = {1, 7, 6};
    ASSERT_OK(ferry_session_resize(session.get(), 0, shape, 3));
    EXPECT_LT(ferry_session_arena_bytes(session.get()), both);
    faults_.expect_nothing_alive();
    ferry_tensor a;
    ASSERT_OK(ferry_session_input(session.get(), 0, &a));
    ASSERT_OK(ferry_session_input(session.get(), 1, &b));
    EXPECT_EQ(elements(a), std::vector<float>(42, 0.0f));
    EXPECT_EQ(elements(b), kept);
    fill_inputs(opened.model, session.get(), 5);
    ASSERT_OK(ferry_session_run(session.get()));
    const auto expected = expected_results(*graph, session.get());
    for (const auto& [name, values] : results(opened.model, session.get()))
      EXPECT_LE(relative_error(values, expected.at(name)), 1e-6) << name;
    EXPECT_EQ(report_of(session).gpu_status, FERRY_GPU_LOST) << "the reason is still reported";
    faults_.disarm();
  }
}

TEST_F(LeaveGpu, AResizeThatTheGpuCannotFollowMovesTheSession) {
  const auto graph = two_lanes();
  Opened opened(*graph);
  for (const std::string& gpu : test_gpus()) {
    for (bool required : {false, true}) {
      SCOPED_TRACE(gpu + (required ? ", required" : ""));
      ferry_session_options options = on_gpu(gpu);
      options.gpu_required = required;
      SessionPtr session = make_session(opened.model, options);
      ASSERT_NE(session, nullptr);
      fill_inputs(opened.model, session.get());
      ferry_tensor b;
      ASSERT_OK(ferry_session_input(session.get(), 1, &b));
      const std::vector<float> kept = elements(b);
      faults_.arm(0, VK_ERROR_OUT_OF_DEVICE_MEMORY);
      const int32_t shape[] = {1, 7, 6};
      const ferry_status status = ferry_session_resize(session.get(), 0, shape, 3);
      EXPECT_TRUE(faults_.fired());
      faults_.disarm();
      ferry_tensor now;
      ASSERT_OK(ferry_session_input(session.get(), 1, &now));
      EXPECT_EQ(elements(now), kept);
      if (required) {
        EXPECT_EQ(status, FERRY_OUT_OF_MEMORY);
        EXPECT_EQ(now.data, b.data) << "everything stays as it was";
        EXPECT_EQ(report_of(session).backend, FERRY_BACKEND_GPU);
      } else {
        EXPECT_EQ(status, FERRY_OK) << ferry_last_error();
        EXPECT_EQ(report_of(session).backend, FERRY_BACKEND_CPU);
        EXPECT_EQ(report_of(session).gpu_status, FERRY_OUT_OF_MEMORY);
      }
      ASSERT_OK(ferry_session_run(session.get()));
      const auto expected = expected_results(*graph, session.get());
      for (const auto& [name, values] : results(opened.model, session.get()))
        EXPECT_LE(relative_error(values, expected.at(name)), 1e-6) << name;
    }
  }
}

}  // namespace
}  // namespace ferry::testing
