// Checks that the fault layer is loaded, counts, and fails calls as armed. Then the device layer on top of it:
// whichever call fails while a device is opened and used, it returns a status and leaks nothing.
#include "sdk/gpu/device/device.h"
#include "tests/gpu/faults.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

class FaultLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  // Opens a device, and creates two buffers on it.
  static Status use_device(const std::string& name) {
    std::shared_ptr<gpu::Device> device;
    FERRY_TRY(gpu::Device::open(name.c_str(), nullptr, true, &device));
    gpu::Buffer local, mapped;
    FERRY_TRY(device->allocate(1 << 16, gpu::MemoryUse::Device, &local));
    FERRY_TRY(device->allocate(1 << 12, gpu::MemoryUse::Readback, &mapped));
    FERRY_TRY(mapped.flush());
    return mapped.invalidate();
  }

  Faults faults_;
};

TEST_F(FaultLayer, CountsCallsObjectsAndBytes) {
  for (const std::string& name : test_gpus()) {
    SCOPED_TRACE(name);
    faults_.disarm();
    {
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(name.c_str(), nullptr, false, &device).ok());
      const uint32_t calls = faults_.calls(), objects = faults_.live_objects();
      EXPECT_GE(calls, 2u);
      EXPECT_STREQ(faults_.call_name(0), "vkCreateInstance");
      EXPECT_EQ(faults_.call_name(calls), nullptr);
      EXPECT_NE(std::string(faults_.live_list()).find("VkDevice 1"), std::string::npos) << faults_.live_list();
      gpu::Buffer buffer;
      ASSERT_TRUE(device->allocate(1 << 16, gpu::MemoryUse::Device, &buffer).ok());
      EXPECT_EQ(faults_.calls(), calls + 3);  // create, allocate, bind
      EXPECT_STREQ(faults_.call_name(calls), "vkCreateBuffer");
      EXPECT_EQ(faults_.live_objects(), objects + 2);
      EXPECT_GE(faults_.live_bytes(), 1u << 16);
    }
    faults_.expect_nothing_alive();
    EXPECT_FALSE(faults_.fired());
  }
}

TEST_F(FaultLayer, ALostDeviceStaysLost) {
  std::shared_ptr<gpu::Device> device;
  ASSERT_TRUE(gpu::Device::open(test_gpus()[0].c_str(), nullptr, false, &device).ok());
  faults_.arm(1, VK_ERROR_DEVICE_LOST);
  gpu::Buffer buffer;
  const Status second = device->allocate(64, gpu::MemoryUse::Device, &buffer);
  EXPECT_EQ(second.code(), FERRY_GPU_LOST);
  EXPECT_EQ(second.message(), "vkAllocateMemory failed: VK_ERROR_DEVICE_LOST");
  EXPECT_TRUE(faults_.fired());
  const Status later = device->allocate(64, gpu::MemoryUse::Device, &buffer);
  EXPECT_EQ(later.message(), "vkCreateBuffer failed: VK_ERROR_DEVICE_LOST");
}

TEST_F(FaultLayer, AnyFailingCallOfADeviceLeaksNothing) {
  for (const std::string& name : test_gpus()) {
    for (const VkResult result : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY,
                                  VK_ERROR_INITIALIZATION_FAILED}) {
      uint32_t failed = 0;
      for (uint32_t n = 0;; ++n) {
        faults_.arm(n, result);
        const Status status = use_device(name);
        if (!faults_.fired()) {
          EXPECT_TRUE(status.ok()) << status.message();
          break;
        }
        SCOPED_TRACE(name + ": " + faults_.call_name(n) + " gives " + std::to_string(result));
        failed += !status.ok();
        EXPECT_TRUE(status.ok() || !status.message().empty());
        faults_.expect_nothing_alive();
      }
      EXPECT_GE(failed, 5u);  // some failures are tolerated: a pipeline cache, another kind of memory
    }
  }
}

}  // namespace
}  // namespace ferry::testing
