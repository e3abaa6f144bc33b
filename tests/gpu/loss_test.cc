// Whichever Vulkan call fails, and however: every run computes right results and returns success, the report says what
// happened, and nothing leaks.
#include <ferry/ferry.h>

#include <functional>

#include "tests/gpu/faults.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr double kLossBound = 1e-5;  // float32 on either backend, for networks as shallow as these
constexpr int32_t kSizes[] = {8, 8, 8, 12};

const char* result_name(VkResult result) {
  switch (result) {
    case VK_ERROR_DEVICE_LOST: return "DeviceLost";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "OutOfDeviceMemory";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "OutOfHostMemory";
    default: return "InitializationFailed";
  }
}

// Each call that can fail does so with one of two results; in sanitizer builds with the other.
constexpr uint32_t kStep = 2;
#if defined(FERRY_SANITIZED)
constexpr uint32_t kFirst = 1;
#else
constexpr uint32_t kFirst = 0;
#endif

using LossResults = std::map<std::string, std::vector<float>>;

class Loss : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
    const SessionPtr session = make_session(opened_.model, 1);
    for (int run = 0; run < static_cast<int>(std::size(kSizes)); ++run) expected_.push_back(compute(session, run));
  }

  // Run number `run` of every session: its size, its input, its results.
  LossResults compute(const SessionPtr& session, int run) {
    const int32_t size = kSizes[run];
    const int32_t shape[] = {1, size, size, 3};
    EXPECT_OK(ferry_session_resize(session.get(), 0, shape, 4));
    fill_inputs(opened_.model, session.get(), static_cast<uint32_t>(run));
    EXPECT_OK(ferry_session_run(session.get()));
    return results(opened_.model, session.get());
  }
  void expect_right(const SessionPtr& session, int run) {
    const LossResults got = compute(session, run);
    for (const auto& [name, values] : expected_[static_cast<size_t>(run)])
      EXPECT_LE(relative_error(got.at(name), {values.begin(), values.end()}), kLossBound) << name << " of run " << run;
  }

  ferry_session_options on_gpu(const std::string& name) const {
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = name.c_str();
    options.gpu_retry = true;  // resets the effects of earlier tests
    options.num_threads = 1;
    return options;
  }
  static ferry_report report_of(const SessionPtr& session) {
    ferry_report report{};
    report.struct_size = sizeof report;
    EXPECT_OK(ferry_session_report(session.get(), &report));
    return report;
  }
  // On the GPU, or on the CPU with a reason.
  void expect_report(const SessionPtr& session) {
    const ferry_report report = report_of(session);
    if (report.backend == FERRY_BACKEND_GPU) {
      EXPECT_EQ(report.gpu_status, FERRY_OK) << report.message;
    } else {
      EXPECT_TRUE(faults_.fired()) << report.message;
      EXPECT_NE(report.gpu_status, FERRY_OK);
      EXPECT_STRNE(report.message, "");
    }
  }

  // Creates, runs and closes a session.
  void live(const ferry_session_options& options) {
    const SessionPtr session = make_session(opened_.model, options);
    ASSERT_NE(session, nullptr);
    for (int run = 0; run < static_cast<int>(std::size(kSizes)); ++run) {
      expect_right(session, run);
      expect_report(session);
    }
  }

  Faults faults_;
  // Few operators suffice: every session makes every kind of call, and a pipeline per operator.
  std::unique_ptr<Graph> graph_ = residual_network(1, 8, 3);
  Opened opened_{*graph_};
  std::vector<LossResults> expected_;  // the CPU's, by run
};

// Selects the calls of a session that are to fail.
using Choice = std::function<bool(uint32_t index, std::string_view name)>;

class LossAnywhere : public Loss, public ::testing::WithParamInterface<VkResult> {
 protected:
  // Fails each selected call of a session, in a new session each. Returns their number. Runs `before` first each time.
  int fail_each(
      const ferry_session_options& options, const Choice& chosen, const std::function<void()>& before = [] {}) {
    before();
    faults_.disarm();
    live(options);
    std::vector<std::string> calls;
    for (uint32_t n = 0; n < faults_.calls(); ++n) calls.push_back(faults_.call_name(n));
    int failed = 0;
    for (uint32_t n = 0; n < calls.size(); ++n) {
      if (!chosen(n, calls[n])) continue;
      SCOPED_TRACE("call " + std::to_string(n) + " of " + std::to_string(calls.size()) + ", " + calls[n]);
      before();
      faults_.arm(n, GetParam());
      live(options);
      EXPECT_TRUE(faults_.fired());
      faults_.disarm();
      faults_.expect_nothing_alive();
      ++failed;
      if (HasFailure()) break;
    }
    return failed;
  }
};

// Every call on one driver; every eleventh on the others, offset by the kind of failure, because the SDK is tested, not
// the driver.
TEST_P(LossAnywhere, GivesRightResults) {
  const uint32_t phase = kFirst + (GetParam() == VK_ERROR_DEVICE_LOST ? 0 : 1);
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    ferry_session_options options = on_gpu(gpu);
    options.profile = true;  // timestamps are calls, too
    const uint32_t step = gpu == test_gpus()[0] ? kStep : 11;
    EXPECT_GT(fail_each(options, [&](uint32_t n, std::string_view) { return (n + phase) % step == 0; }), 10);
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, LossAnywhere, ::testing::Values(VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY),
                         [](const auto& of) { return result_name(of.param); });

// With a folder for pipelines, empty at the start of each session.
class LossOfPipelines : public LossAnywhere {};

TEST_P(LossOfPipelines, GivesRightResults) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    const ScratchFolder cache;
    const std::string path = cache.path();
    ferry_session_options options = on_gpu(gpu);
    options.gpu_cache_dir = path.c_str();
    uint32_t seen = 0;
    const uint32_t step = gpu == test_gpus()[0] ? 1 : 3;
    const Choice pipelines = [&](uint32_t, std::string_view name) {
      const bool fits = name.find("Pipeline") != name.npos || name.find("Shader") != name.npos;
      return fits && seen++ % step == 0;
    };
    const auto clear = [&] {
      for (const auto& entry : std::filesystem::directory_iterator(path)) std::filesystem::remove_all(entry);
    };
    EXPECT_GT(fail_each(options, pipelines, clear), 5);
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, LossOfPipelines,
                         ::testing::Values(VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_INITIALIZATION_FAILED),
                         [](const auto& of) { return result_name(of.param); });

TEST_F(Loss, IsRememberedUntilASessionRetries) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    ferry_session_options options = on_gpu(gpu);
    {
      const SessionPtr session = make_session(opened_.model, options);
      ASSERT_EQ(report_of(session).backend, FERRY_BACKEND_GPU) << report_of(session).message;
      expect_right(session, 0);
      faults_.arm(0, VK_ERROR_DEVICE_LOST);
      expect_right(session, 1);
      EXPECT_TRUE(faults_.fired());
      const ferry_report report = report_of(session);
      EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
      EXPECT_EQ(report.gpu_status, FERRY_GPU_LOST) << report.message;
      expect_right(session, 2);
      expect_right(session, 3);
    }
    faults_.expect_nothing_alive();
    faults_.disarm();
    options.gpu_retry = false;
    {
      const SessionPtr session = make_session(opened_.model, options);
      EXPECT_EQ(report_of(session).backend, FERRY_BACKEND_CPU);
      EXPECT_EQ(report_of(session).gpu_status, FERRY_GPU_LOST);
      expect_right(session, 0);
    }
    options.gpu_retry = true;
    const SessionPtr session = make_session(opened_.model, options);
    EXPECT_EQ(report_of(session).backend, FERRY_BACKEND_GPU) << report_of(session).message;
    expect_right(session, 0);
  }
}

// Releasing a lost device late must not affect the device opened since.
TEST_F(Loss, DoesNotAffectALaterDevice) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    ferry_session_options options = on_gpu(gpu);
    {
      SessionPtr first = make_session(opened_.model, options);
      expect_right(first, 0);
      faults_.arm(0, VK_ERROR_DEVICE_LOST);
      expect_right(first, 1);
      EXPECT_EQ(report_of(first).gpu_status, FERRY_GPU_LOST);
      faults_.disarm();
      const SessionPtr anew = make_session(opened_.model, options);
      EXPECT_EQ(report_of(anew).backend, FERRY_BACKEND_GPU) << report_of(anew).message;
      first.reset();
      options.gpu_retry = false;
      const SessionPtr after = make_session(opened_.model, options);
      EXPECT_EQ(report_of(after).backend, FERRY_BACKEND_GPU) << report_of(after).message;
      expect_right(after, 0);
      expect_right(anew, 0);
    }
    faults_.expect_nothing_alive();
  }
}

TEST_F(Loss, OfADeviceThatTwoSessionsShareLeavesBothRight) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    {
      const SessionPtr first = make_session(opened_.model, on_gpu(gpu));
      const SessionPtr second = make_session(opened_.model, on_gpu(gpu));
      expect_right(first, 0);
      expect_right(second, 1);
      faults_.arm(1, VK_ERROR_DEVICE_LOST);
      for (int run = 0; run < 4; ++run) {
        expect_right(first, run);
        expect_right(second, run);
      }
      EXPECT_EQ(report_of(first).gpu_status, FERRY_GPU_LOST);
      EXPECT_EQ(report_of(second).gpu_status, FERRY_GPU_LOST);
    }
    faults_.disarm();
    faults_.expect_nothing_alive();
  }
}

}  // namespace
}  // namespace ferry::testing
