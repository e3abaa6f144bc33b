// The app's own device, buffers, semaphores and fences; asynchronous runs.
#include <atomic>
#include <cmath>
#include <functional>

#include "tests/gpu/app_device.h"
#include "tests/gpu/faults.h"
#include "tests/gpu/vulkan_example.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

using Values = std::vector<float>;

class Interop : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  // Runs `body` with each driver's device, opened, and a session on it.
  void on_each(const std::function<void(AppDevice&, ferry_gpu*, ferry_session*)>& body) {
    for (const std::string& name : test_gpus()) {
      SCOPED_TRACE(name);
      AppDevice app(name);
      ferry_gpu* gpu = app.open();
      ASSERT_NE(gpu, nullptr);
      SessionPtr session = make_session_on(opened_.model, gpu);
      ASSERT_NE(session, nullptr);
      body(app, gpu, session.get());
      session.reset();
      ferry_gpu_close(gpu);
    }
  }
  static ferry_tensor input(ferry_session* session) {
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_input(session, 0, &tensor));
    return tensor;
  }
  static ferry_tensor output(ferry_session* session) {
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_output(session, 0, &tensor));
    return tensor;
  }
  static void write(const ferry_tensor& tensor, const Values& values) {
    std::memcpy(tensor.data, values.data(), tensor.bytes);
  }
  static Values some_input(ferry_session* session, uint32_t seed) {
    Values values(input(session).bytes / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
    return values;
  }
  // Through host memory.
  static Values answer(ferry_session* session, const Values& given) {
    write(input(session), given);
    EXPECT_OK(ferry_session_run(session));
    return elements(output(session));
  }
  static Values of(const AppDevice::Floats& floats) {
    return {floats.values, floats.values + floats.bytes / sizeof(float)};
  }

  std::unique_ptr<Graph> graph_ = small_decoder();
  Opened opened_{*graph_};
};

TEST_F(Interop, BoundBuffersTakeThePlaceOfHostMemory) {
  on_each([&](AppDevice& app, ferry_gpu*, ferry_session* session) {
    const Values given = some_input(session, 1), other = some_input(session, 2);
    const Values expected = answer(session, given);
    const Values expected_other = answer(session, other);
    EXPECT_NE(expected, expected_other);
    EXPECT_GT(app.submissions, 0);

    constexpr VkDeviceSize kOffset = 4096;  // a multiple of any driver's alignment
    const AppDevice::Floats in = app.floats(kOffset / 4 + given.size());
    const AppDevice::Floats out = app.floats(kOffset / 4 + expected.size() + 4);
    std::fill_n(out.values, out.bytes / sizeof(float), 7.0f);
    std::copy(given.begin(), given.end(), in.values + kOffset / 4);
    ASSERT_OK(ferry_session_bind_vulkan_input(session, 0, in.buffer, kOffset, in.bytes - kOffset));
    ASSERT_OK(ferry_session_bind_vulkan_output(session, 0, out.buffer, kOffset, out.bytes - kOffset));
    const Values untouched = elements(output(session));
    ASSERT_OK(ferry_session_run(session));
    EXPECT_EQ(Values(out.values + kOffset / 4, out.values + kOffset / 4 + expected.size()), expected);
    EXPECT_EQ(Values(out.values, out.values + kOffset / 4), Values(kOffset / 4, 7.0f)) << "before the range";
    EXPECT_EQ(Values(out.values + kOffset / 4 + expected.size(), out.values + out.bytes / 4), Values(4, 7.0f));
    EXPECT_EQ(elements(output(session)), untouched) << "host memory is not written";

    // Only one of them, then none.
    ASSERT_OK(ferry_session_bind_vulkan_input(session, 0, VK_NULL_HANDLE, 0, 0));
    write(input(session), other);
    ASSERT_OK(ferry_session_run(session));
    EXPECT_EQ(Values(out.values + kOffset / 4, out.values + kOffset / 4 + expected.size()), expected_other);
    ASSERT_OK(ferry_session_bind_vulkan_output(session, 0, VK_NULL_HANDLE, 0, 0));
    EXPECT_EQ(answer(session, given), expected);

    // A resize unbinds.
    ASSERT_OK(ferry_session_bind_vulkan_input(session, 0, in.buffer, kOffset, in.bytes - kOffset));
    const int32_t larger[] = {1, 5, 5, 6}, former[] = {1, 4, 5, 6};
    ASSERT_OK(ferry_session_resize(session, 0, larger, 4));
    ASSERT_OK(ferry_session_resize(session, 0, former, 4));
    EXPECT_EQ(answer(session, other), expected_other);
  });
}

TEST_F(Interop, SubmissionsAreOrderedBySemaphoresAndFences) {
  on_each([&](AppDevice& app, ferry_gpu*, ferry_session* session) {
    const AppDevice::Floats staging = app.floats(input(session).bytes / 4), in = app.floats(input(session).bytes / 4);
    const AppDevice::Floats out = app.floats(output(session).bytes / 4), back = app.floats(output(session).bytes / 4);
    std::vector<Values> given, expected;
    for (uint32_t frame = 0; frame < 3; ++frame) {
      given.push_back(some_input(session, frame));
      expected.push_back(answer(session, given.back()));
    }
    ASSERT_OK(ferry_session_bind_vulkan_input(session, 0, in.buffer, 0, in.bytes));
    ASSERT_OK(ferry_session_bind_vulkan_output(session, 0, out.buffer, 0, out.bytes));
    const VkSemaphore written = app.semaphore(), computed = app.semaphore();
    for (size_t frame = 0; frame < given.size(); ++frame) {
      std::copy(given[frame].begin(), given[frame].end(), staging.values);
      app.copy(staging, in, VK_NULL_HANDLE, written);
      const VkFence fence = app.fence();
      ferry_vulkan_submit submit{};
      submit.struct_size = sizeof submit;
      submit.wait_count = submit.signal_count = 1;
      submit.wait_semaphores = &written;
      submit.signal_semaphores = &computed;
      submit.fence = fence;
      ASSERT_OK(ferry_session_submit_vulkan(session, &submit));
      app.copy(out, back, computed, VK_NULL_HANDLE);
      EXPECT_VK(vkWaitForFences(app.device, 1, &fence, VK_TRUE, UINT64_MAX));
      EXPECT_VK(vkQueueWaitIdle(app.queue));
      EXPECT_EQ(of(back), expected[frame]) << "frame " << frame;
    }
    EXPECT_OK(ferry_session_wait(session));
  });
}

TEST_F(Interop, SubmissionsAreOrderedOnTheQueueWithoutSemaphores) {
  on_each([&](AppDevice& app, ferry_gpu*, ferry_session* session) {
    const AppDevice::Floats staging = app.floats(input(session).bytes / 4), in = app.floats(input(session).bytes / 4);
    const AppDevice::Floats out = app.floats(output(session).bytes / 4), back = app.floats(output(session).bytes / 4);
    const Values given = some_input(session, 5), expected = answer(session, given);
    ASSERT_OK(ferry_session_bind_vulkan_input(session, 0, in.buffer, 0, in.bytes));
    ASSERT_OK(ferry_session_bind_vulkan_output(session, 0, out.buffer, 0, out.bytes));
    std::copy(given.begin(), given.end(), staging.values);
    for (int frame = 0; frame < 3; ++frame) {
      app.copy(staging, in, VK_NULL_HANDLE, VK_NULL_HANDLE);
      ASSERT_OK(ferry_session_submit_vulkan(session, nullptr));
    }
    app.copy(out, back, VK_NULL_HANDLE, VK_NULL_HANDLE);
    EXPECT_VK(vkQueueWaitIdle(app.queue));
    EXPECT_EQ(of(back), expected);
  });
}

TEST_F(Interop, SubmissionsBringResultsToHostMemory) {
  on_each([&](AppDevice&, ferry_gpu*, ferry_session* session) {
    const Values given = some_input(session, 6), expected = answer(session, given);
    answer(session, some_input(session, 7));
    write(input(session), given);
    ASSERT_OK(ferry_session_submit_vulkan(session, nullptr));
    ASSERT_OK(ferry_session_wait(session));
    EXPECT_EQ(elements(output(session)), expected);
    ASSERT_OK(ferry_session_submit_vulkan(session, nullptr));  // the session is closed while it runs
  });
}

TEST_F(Interop, RefusesMismatches) {
  on_each([&](AppDevice& app, ferry_gpu*, ferry_session* session) {
    const Values given = some_input(session, 8), expected = answer(session, given);
    const AppDevice::Floats in = app.floats(given.size() + 64);
    const auto bind = [&](size_t index, VkDeviceSize offset, VkDeviceSize bytes) {
      return ferry_session_bind_vulkan_input(session, index, in.buffer, offset, bytes);
    };
    EXPECT_EQ(bind(1, 0, in.bytes), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(bind(0, 0, given.size() * 4 - 1), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(bind(0, 1, in.bytes - 1), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(ferry_session_bind_vulkan_input(nullptr, 0, in.buffer, 0, in.bytes), FERRY_INVALID_ARGUMENT);
    ferry_vulkan_submit submit{};
    EXPECT_EQ(ferry_session_submit_vulkan(session, &submit), FERRY_INVALID_ARGUMENT) << "struct_size";
    submit.struct_size = sizeof submit;
    submit.wait_count = 1;
    EXPECT_EQ(ferry_session_submit_vulkan(session, &submit), FERRY_INVALID_ARGUMENT) << "no semaphores";
    EXPECT_EQ(answer(session, given), expected);

    const SessionPtr cpu = make_session(opened_.model, 1);
    EXPECT_EQ(ferry_session_bind_vulkan_input(cpu.get(), 0, in.buffer, 0, in.bytes), FERRY_GPU_UNAVAILABLE);
    EXPECT_EQ(ferry_session_submit_vulkan(cpu.get(), nullptr), FERRY_GPU_UNAVAILABLE);

    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    const SessionPtr own = make_session(opened_.model, options);
    EXPECT_EQ(ferry_session_bind_vulkan_input(own.get(), 0, in.buffer, 0, in.bytes), FERRY_INVALID_ARGUMENT);

    ferry_gpu* none = nullptr;
    ferry_vulkan_device device = app.described();
    device.queue = VK_NULL_HANDLE;
    EXPECT_EQ(ferry_gpu_open_vulkan(&device, &none), FERRY_INVALID_ARGUMENT);
    device = app.described();
    device.unlock_queue = nullptr;
    EXPECT_EQ(ferry_gpu_open_vulkan(&device, &none), FERRY_INVALID_ARGUMENT);
    device = app.described();
    device.struct_size = 0;
    EXPECT_EQ(ferry_gpu_open_vulkan(&device, &none), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    ferry_gpu_close(nullptr);
  });
}

TEST_F(Interop, ALostDeviceFailsBoundRunsAndLeavesOthersToTheCpu) {
  Faults faults;
  for (const std::string& name : test_gpus()) {
    SCOPED_TRACE(name);
    AppDevice app(name);
    ferry_gpu* gpu = app.open();
    {
      const SessionPtr session = make_session_on(opened_.model, gpu);
      const Values given = some_input(session.get(), 9), expected = answer(session.get(), given);
      const AppDevice::Floats in = app.floats(given.size());
      ASSERT_OK(ferry_session_bind_vulkan_input(session.get(), 0, in.buffer, 0, in.bytes));
      faults.arm(0, VK_ERROR_DEVICE_LOST);
      EXPECT_EQ(ferry_session_run(session.get()), FERRY_GPU_LOST);
      EXPECT_TRUE(faults.fired());
      faults.disarm();
      EXPECT_EQ(ferry_session_run(session.get()), FERRY_GPU_LOST);
      ASSERT_OK(ferry_session_bind_vulkan_input(session.get(), 0, VK_NULL_HANDLE, 0, 0));
      EXPECT_LE(relative_error(answer(session.get(), given), {expected.begin(), expected.end()}), 1e-5);
      EXPECT_EQ(ferry_session_submit_vulkan(session.get(), nullptr), FERRY_GPU_UNAVAILABLE);
    }
    ferry_gpu_close(gpu);
  }
}

TEST_F(Interop, AsynchronousRunsFallBackToo) {
  Faults faults;
  for (const std::string& name : test_gpus()) {
    SCOPED_TRACE(name);
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = name.c_str();
    options.gpu_retry = true;
    const SessionPtr session = make_session(opened_.model, options);
    const Values given = some_input(session.get(), 11), expected = answer(session.get(), given);
    answer(session.get(), some_input(session.get(), 12));
    write(input(session.get()), given);
    faults.arm(0, VK_ERROR_DEVICE_LOST);
    ASSERT_OK(ferry_session_run_async(session.get(), nullptr, nullptr));
    EXPECT_OK(ferry_session_wait(session.get()));
    EXPECT_TRUE(faults.fired());
    faults.disarm();
    EXPECT_LE(relative_error(elements(output(session.get())), {expected.begin(), expected.end()}), 1e-5);
    ferry_report report{};
    report.struct_size = sizeof report;
    ASSERT_OK(ferry_session_report(session.get(), &report));
    EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
    EXPECT_EQ(report.gpu_status, FERRY_GPU_LOST);
  }
}

TEST_F(Interop, ExampleOfVulkanHRuns) {
  on_each([&](AppDevice& app, ferry_gpu*, ferry_session* session) {
    const Values given = some_input(session, 10), expected = answer(session, given);
    const AppDevice::Floats in = app.floats(given.size()), out = app.floats(expected.size());
    std::copy(given.begin(), given.end(), in.values);
    const vulkan_app described{app.instance,          app.physical, app.device, app.queue,  0,
                               vkGetInstanceProcAddr, in.buffer,    in.bytes,   out.buffer, out.bytes};
    EXPECT_EQ(vulkan_h_example(opened_.model, &described), 0);
    EXPECT_EQ(of(out), expected);
  });
}

}  // namespace
}  // namespace ferry::testing
