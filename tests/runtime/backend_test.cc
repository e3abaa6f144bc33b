// A session that requests a missing GPU runs on the CPU and says why.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include "tests/runtime/networks.h"
#include "tests/support/environment.h"

namespace ferry::testing {
namespace {

class WithoutVulkan : public ::testing::Test {
 protected:
  ferry_session_options gpu_options() const {
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.precision = FERRY_PRECISION_FLOAT16;
    return options;
  }

  std::unique_ptr<Graph> graph_ = small_classifier();
  Opened opened_{*graph_};

 private:
  HiddenVulkan hidden_;
};

ferry_report report_of(const SessionPtr& session) {
  ferry_report report{};
  report.struct_size = sizeof(report);
  EXPECT_OK(ferry_session_report(session.get(), &report));
  return report;
}

TEST_F(WithoutVulkan, TheSessionRunsOnTheCpuAndSaysWhy) {
  ferry_session_options options = gpu_options();
  options.profile = true;
  options.all_taps = true;
  SessionPtr session = make_session(opened_.model, options);
  options.backend = FERRY_BACKEND_CPU;
  SessionPtr cpu = make_session(opened_.model, options);
  EXPECT_EQ(ferry_session_arena_bytes(session.get()), ferry_session_arena_bytes(cpu.get()));
  for (int size : {8, 16}) {
    const int32_t shape[] = {1, size, size, 3};
    ASSERT_OK(ferry_session_resize(session.get(), 0, shape, 4));
    ASSERT_OK(ferry_session_resize(cpu.get(), 0, shape, 4));
    fill_inputs(opened_.model, session.get());
    fill_inputs(opened_.model, cpu.get());
    ASSERT_OK(ferry_session_run(session.get()));
    ASSERT_OK(ferry_session_run(cpu.get()));
    EXPECT_EQ(results(opened_.model, session.get()), results(opened_.model, cpu.get()));
    const ferry_report report = report_of(session);
    EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
    EXPECT_EQ(report.gpu_status, FERRY_GPU_UNAVAILABLE);
    EXPECT_STRNE(report.message, "");
    EXPECT_STREQ(report.device, "");
    EXPECT_EQ(report.precision, report_of(cpu).precision) << "the CPU's";
    EXPECT_EQ(report.gpu_operators, 0u);
    EXPECT_EQ(report.cpu_operators, graph_->table.operators.size());
  }
  ferry_profile_entry entry;
  ASSERT_OK(ferry_session_profile(session.get(), 0, &entry));
  EXPECT_STREQ(entry.backend, "cpu");
  EXPECT_GT(entry.microseconds, 0);
}

TEST_F(WithoutVulkan, RequiringItFailsWithTheReason) {
  ferry_session_options options = gpu_options();
  const SessionPtr session = make_session(opened_.model, options);
  options.gpu_required = true;
  ferry_session* refused = nullptr;
  EXPECT_EQ(ferry_session_create(opened_.model, &options, &refused), FERRY_GPU_UNAVAILABLE);
  EXPECT_EQ(refused, nullptr);
  EXPECT_STREQ(ferry_last_error(), report_of(session).message);
}

TEST_F(WithoutVulkan, OtherErrorsStillFail) {
  ferry_session_options options = gpu_options();
  options.memory_limit = 100;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(opened_.model, &options, &session), FERRY_MEMORY_LIMIT);
  options = gpu_options();
  const char* taps[] = {"absent"};
  options.taps = taps;
  options.tap_count = 1;
  EXPECT_EQ(ferry_session_create(opened_.model, &options, &session), FERRY_NOT_FOUND);
}

TEST_F(WithoutVulkan, NoDevicesAreListed) {
  EXPECT_EQ(ferry_gpu_count(), 0u);
  EXPECT_STRNE(ferry_last_error(), "");
  ferry_gpu_info info;
  std::memset(&info, 0xFF, sizeof(info));
  info.struct_size = sizeof(info);
  EXPECT_EQ(ferry_gpu_describe(0, &info), FERRY_GPU_UNAVAILABLE);
  EXPECT_STREQ(info.name, "");
}

}  // namespace
}  // namespace ferry::testing
