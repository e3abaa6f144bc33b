// Several sessions on one device, each in its own thread.
#include <thread>

#include "tests/gpu/app_device.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

constexpr int kThreads = 4, kRuns = 6;
constexpr double kThreadsBound = 1e-5;  // float32 on either backend, for networks as shallow as these

// Every thread creates a session, runs it on its own inputs in changing sizes and closes it.
void run_side_by_side(const Graph& graph, ferry_model* model, const ferry_session_options& options) {
  const SessionPtr cpu = make_session(model, 1);
  std::vector<std::map<std::string, std::vector<double>>> expected;
  for (int run = 0; run < kThreads + kRuns; ++run) {
    fill_inputs(model, cpu.get(), static_cast<uint32_t>(run));
    expected.push_back(expected_results(graph, cpu.get()));
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const SessionPtr session = make_session(model, options);
      ASSERT_NE(session, nullptr);
      for (int run = thread; run < thread + kRuns; ++run) {
        fill_inputs(model, session.get(), static_cast<uint32_t>(run));
        if (run % 2 == 0) {
          EXPECT_OK(ferry_session_run(session.get()));
        } else {
          EXPECT_OK(ferry_session_run_async(session.get(), nullptr, nullptr));
          EXPECT_OK(ferry_session_wait(session.get()));
        }
        for (const auto& [name, values] : results(model, session.get()))
          EXPECT_LE(relative_error(values, expected[static_cast<size_t>(run)].at(name)), kThreadsBound) << name;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GpuThreads, ShareADevice) {
  for (const std::string& name : test_gpus()) {
    SCOPED_TRACE(name);
    for (const auto& graph : {small_decoder(), small_classifier()}) {
      const Opened opened(*graph);
      ferry_session_options options = default_options();
      options.backend = FERRY_BACKEND_GPU;
      options.gpu_required = true;
      options.gpu_device = name.c_str();
      options.gpu_retry = true;  // resets the effects of earlier tests
      options.num_threads = 1;
      run_side_by_side(*graph, opened.model, options);
    }
  }
}

TEST(GpuThreads, ShareTheAppsDeviceUnderItsLock) {
  for (const std::string& name : test_gpus()) {
    SCOPED_TRACE(name);
    const auto graph = small_decoder();
    const Opened opened(*graph);
    AppDevice app(name);
    ferry_gpu* gpu = app.open();
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu = gpu;
    options.num_threads = 1;
    run_side_by_side(*graph, opened.model, options);
    EXPECT_GE(app.submissions, kThreads * kRuns);
    ferry_gpu_close(gpu);
  }
}

}  // namespace
}  // namespace ferry::testing
