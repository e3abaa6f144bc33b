// The device layer: devices, memory, pipelines, and their cache on disk.
#include "sdk/gpu/device/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/pipelines.h"
#include "tests/support/gpus.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::gpu {
namespace {

namespace fs = std::filesystem;
using ferry::testing::test_gpus;

#define ASSERT_GOOD(status)                                   \
  do {                                                        \
    const Status good = (status);                             \
    ASSERT_TRUE(good.ok()) << #status ": " << good.message(); \
  } while (false)

std::shared_ptr<Device> open(const std::string& name, const fs::path& cache = {}) {
  std::shared_ptr<Device> device;
  const Status status = Device::open(name.c_str(), cache.c_str(), true, &device);
  EXPECT_TRUE(status.ok()) << status.message();
  return device;
}

Variant variant_of(Kernel kernel, uint32_t workgroup = 64) {
  return {.kernel = kernel, .storage = Storage::Float32, .count = 3, .constants = {workgroup, 1, 1}};
}

class DeviceTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const std::string& gpu : test_gpus()) found_ |= gpu == GetParam();
    if (!found_) GTEST_SKIP() << "no driver " << GetParam();
  }
  bool found_ = false;
};
INSTANTIATE_TEST_SUITE_P(Drivers, DeviceTest, ::testing::Values("llvmpipe", "SwiftShader"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(DeviceTest, DescribesItsCapabilities) {
  const auto device = open(GetParam());
  ASSERT_NE(device, nullptr);
  const DeviceInfo& info = device->info();
  EXPECT_NE(std::string(info.properties.deviceName).find(GetParam()), std::string::npos);
  EXPECT_FALSE(info.driver.empty());
  EXPECT_EQ(info.problem, "");
  EXPECT_GE(info.memory_bytes, uint64_t{64} << 20);
  const Limits& l = device->limits();
  EXPECT_GE(l.storage_range, uint64_t{128} << 20);
  EXPECT_GE(l.max_allocation, l.storage_range);
  EXPECT_TRUE(std::has_single_bit(l.offset_alignment));
  EXPECT_GE(l.offset_alignment, 64u);
  EXPECT_TRUE(l.import_alignment == 0 || (std::has_single_bit(l.import_alignment) && l.import_alignment <= 65536));
  EXPECT_TRUE(std::has_single_bit(l.copy_alignment));
  EXPECT_GE(l.shared_bytes, 16384u);
  EXPECT_GE(l.invocations, 128u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(l.workgroup_size[i], 64u);
    EXPECT_GE(l.workgroup_count[i], 65535u);
  }
  EXPECT_TRUE(std::has_single_bit(l.subgroup_size));
  EXPECT_GE(l.subgroup_size, 4u);
  EXPECT_LE(l.subgroup_size, 128u);
  EXPECT_TRUE(l.software);
  EXPECT_GT(l.timestamp_ns, 0);
  EXPECT_FALSE(device->lost());
}

TEST_P(DeviceTest, IsSharedByItsUsers) {
  const auto device = open(GetParam());
  EXPECT_EQ(open(GetParam()), device);
  std::shared_ptr<const Instance> instance;
  ASSERT_GOOD(Instance::open(&instance));
  for (size_t i = 0; i < instance->devices().size(); ++i) {
    const bool same = instance->devices()[i].handle == device->info().handle;
    EXPECT_EQ(open(std::to_string(i)) == device, same) << "index " << i;
  }
  std::string upper = GetParam();
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  EXPECT_EQ(open(upper), device);
  EXPECT_NE(open("best"), nullptr);
  std::shared_ptr<Device> none;
  const Status status = Device::open("no such device", nullptr, false, &none);
  EXPECT_EQ(status.code(), FERRY_GPU_UNAVAILABLE);
  EXPECT_NE(status.message().find(GetParam()), std::string::npos) << "names those that there are";
  EXPECT_EQ(none, nullptr);
}

// Copies floats from `source` through a device-local buffer to host memory, by two kernels.
void expect_round_trip(Device& device, const Buffer& source, std::span<const float> values) {
  const uint32_t quads = static_cast<uint32_t>(values.size() / 4);
  Buffer local, back;
  ASSERT_GOOD(device.allocate(values.size_bytes(), MemoryUse::Device, &local));
  EXPECT_EQ(local.mapped(), nullptr);
  ASSERT_GOOD(device.allocate(values.size_bytes(), MemoryUse::Readback, &back));
  const auto range = [&](const Buffer& buffer) { return BufferRange{buffer.handle(), 0, values.size_bytes()}; };
  Commands commands(device);
  ASSERT_GOOD(commands.begin(2, true));
  Dispatch dispatch;
  dispatch.bindings[0] = dispatch.bindings[1] = Operand::value(TensorId::First);
  dispatch.groups = spread(quads, 64, device.limits());
  dispatch.push = {quads, 4, 1};
  dispatch.variant = variant_of(Kernel::Upload);
  ASSERT_GOOD(commands.dispatch(dispatch, {range(local), range(source)}));
  commands.timestamp();
  dispatch.variant = variant_of(Kernel::Download);
  ASSERT_GOOD(commands.dispatch(dispatch, {range(back), range(local)}));
  commands.timestamp();
  ASSERT_GOOD(commands.end());
  for (int run = 0; run < 2; ++run) {
    std::fill_n(reinterpret_cast<float*>(back.mapped()), values.size(), -1.0f);
    ASSERT_GOOD(back.flush());
    ASSERT_GOOD(commands.submit());
    ASSERT_GOOD(commands.wait());
    ASSERT_GOOD(back.invalidate());
    EXPECT_TRUE(std::equal(values.begin(), values.end(), reinterpret_cast<const float*>(back.mapped())));
    std::span<const double> times;
    ASSERT_GOOD(commands.timestamps(&times));
    ASSERT_EQ(times.size(), 3u);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  }
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) + 0.5f;
  return values;
}

TEST_P(DeviceTest, MapsWhatTheHostWrites) {
  const auto device = open(GetParam());
  const std::vector<float> values = ramp(4096);
  Buffer moved;
  {
    Buffer buffer;
    ASSERT_GOOD(device->allocate(values.size() * sizeof(float), MemoryUse::Upload, &buffer));
    moved = std::move(buffer);
  }
  ASSERT_NE(moved.mapped(), nullptr);
  std::memcpy(moved.mapped(), values.data(), values.size() * sizeof(float));
  ASSERT_GOOD(moved.flush());
  expect_round_trip(*device, moved, values);
}

TEST_P(DeviceTest, ReadsHostMemoryInPlaceWhereItCan) {
  const auto device = open(GetParam());
  const uint64_t alignment = device->limits().import_alignment;
  if (alignment == 0) {
    Buffer none;
    EXPECT_EQ(device->import(&none, 4096, &none).code(), FERRY_UNSUPPORTED);
    return;
  }
  const std::vector<float> values = ramp(65536);
  void* memory = std::aligned_alloc(alignment, values.size() * sizeof(float));
  std::memcpy(memory, values.data(), values.size() * sizeof(float));
  {
    Buffer imported;
    ASSERT_GOOD(device->import(memory, values.size() * sizeof(float), &imported));
    expect_round_trip(*device, imported, values);
  }
  std::free(memory);
}

TEST_P(DeviceTest, ReportsFailedAllocations) {
  const auto device = open(GetParam());
  Buffer none;
  const Status status = device->allocate(device->limits().max_allocation + 4096, MemoryUse::Device, &none);
  EXPECT_EQ(status.code(), FERRY_OUT_OF_MEMORY) << status.message();
  EXPECT_EQ(none.handle(), VkBuffer{VK_NULL_HANDLE});
}

TEST_P(DeviceTest, MakesAPipelineOnce) {
  const auto device = open(GetParam());
  VkPipeline first, again, other;
  ASSERT_GOOD(device->pipelines().get(variant_of(Kernel::Upload), &first));
  ASSERT_GOOD(device->pipelines().get(variant_of(Kernel::Upload), &again));
  ASSERT_GOOD(device->pipelines().get(variant_of(Kernel::Upload, 32), &other));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(to_string(variant_of(Kernel::Upload)), "upload f32 64 1 1");
}

// Valid, and glslc's modules except for the numbering of identifiers, which spirv-opt assigns in order.
TEST(Shaders, MatchTheBuiltModules) {
  Shaders shaders;
  shaders.load();
  const ScratchFolder folder;
  const std::string embedded = (folder.path() / "embedded").string(), numbered = (folder.path() / "numbered").string();
  const auto compact = [&](const std::string& module) {
    const std::string command = std::string(FERRY_SPIRV_OPT) + " --compact-ids '" + module + "' -o " + numbered;
    EXPECT_EQ(std::system(command.c_str()), 0) << module;
    return read_text(numbered);
  };
  for (size_t k = 0; k < kKernelCount; ++k) {
    for (Storage storage : {Storage::Float32, Storage::Float16}) {
      const fs::path file = build_folder() / "generated" / "shaders" /
                            (std::string(kKernelNames[k]) + (storage == Storage::Float16 ? ".float16.spv" : ".spv"));
      const std::span<const uint32_t> code = shaders.code(static_cast<Kernel>(k), storage);
      if (storage == Storage::Float32 && std::string(kKernelNames[k]).ends_with("_float16")) {
        EXPECT_TRUE(code.empty()) << file;  // it multiplies in float16
        continue;
      }
      std::ofstream(embedded, std::ios::binary)
          .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size_bytes()));
      const std::string valid = std::string(FERRY_SPIRV_VAL) + " --target-env vulkan1.1 " + embedded;
      EXPECT_EQ(std::system(valid.c_str()), 0) << file;
      EXPECT_EQ(compact(embedded), compact(file.string())) << file;
    }
  }
}

// ---- What is kept on disk -------------------------------------------------------------------------------------------

// All files in a folder and its subfolders.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

// Opens the device with that folder, makes a pipeline, stores a verdict and a choice, closes it.
void fill_cache(const std::string& gpu, const fs::path& folder) {
  const auto device = open(gpu, folder);
  ASSERT_NE(device, nullptr);
  VkPipeline pipeline;
  ASSERT_GOOD(device->pipelines().get(variant_of(Kernel::Upload), &pipeline));
  device->pipelines().set_verdict(variant_of(Kernel::Upload), Pipelines::Verdict::Right);
  device->pipelines().set_verdict(variant_of(Kernel::Download), Pipelines::Verdict::Wrong);
  device->pipelines().set_tuned("conv2d [1,8,8,4]", 3);
}

// True if a new device knows everything that fill_cache() stored; false if nothing.
bool remembers(const std::string& gpu, const fs::path& folder) {
  const auto device = open(gpu, folder);
  Pipelines& pipelines = device->pipelines();
  const bool all = pipelines.verdict(variant_of(Kernel::Upload)) == Pipelines::Verdict::Right &&
                   pipelines.verdict(variant_of(Kernel::Download)) == Pipelines::Verdict::Wrong &&
                   pipelines.tuned("conv2d [1,8,8,4]") == 3;
  const bool nothing = pipelines.verdict(variant_of(Kernel::Upload)) == Pipelines::Verdict::Unknown &&
                       pipelines.verdict(variant_of(Kernel::Download)) == Pipelines::Verdict::Unknown &&
                       pipelines.tuned("conv2d [1,8,8,4]") == -1;
  EXPECT_NE(all, nothing);
  VkPipeline pipeline;
  EXPECT_TRUE(pipelines.get(variant_of(Kernel::Upload), &pipeline).ok());
  return all;
}

TEST_P(DeviceTest, RemembersFromRunToRun) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / "made" / "here";
  fill_cache(GetParam(), folder);
  ASSERT_EQ(files_in(folder).size(), 1u) << "one file, and none beside it";
  const std::string written = read_text(files_in(folder)[0]);
  EXPECT_TRUE(remembers(GetParam(), folder));
  EXPECT_TRUE(remembers(GetParam(), folder)) << "and so does what the second run left";
  EXPECT_FALSE(remembers(GetParam(), scratch.path() / "elsewhere"));
  // Each driver has its own file.
  for (const std::string& other : test_gpus()) EXPECT_EQ(remembers(other, folder), other == GetParam()) << other;
}

TEST_P(DeviceTest, IgnoresADamagedFileAndReplacesIt) {
  const ScratchFolder scratch;
  fill_cache(GetParam(), scratch.path());
  ASSERT_EQ(files_in(scratch.path()).size(), 1u);
  const fs::path file = files_in(scratch.path())[0];
  const std::string whole = read_text(file);
  ASSERT_GT(whole.size(), 100u);
  const auto expect_ignored = [&](const std::string& damaged) {
    scratch.write(file.filename(), damaged);
    EXPECT_FALSE(remembers(GetParam(), scratch.path()));
  };
  for (size_t length : {size_t{0}, size_t{1}, size_t{39}, size_t{40}, size_t{60}, whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE("cut to " + std::to_string(length));
    expect_ignored(whole.substr(0, length));
  }
  for (size_t at : {size_t{0}, size_t{8}, size_t{16}, size_t{23}, size_t{24}, size_t{31}, size_t{32}, size_t{45},
                    whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE("byte " + std::to_string(at));
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    expect_ignored(damaged);
  }
  fill_cache(GetParam(), scratch.path());
  EXPECT_TRUE(remembers(GetParam(), scratch.path()));
}

TEST_P(DeviceTest, WorksWithoutAWritableFolder) {
  const ScratchFolder scratch;
  const fs::path file = scratch.write("file", "no folder");
  fill_cache(GetParam(), file / "below");  // for root, too
  EXPECT_FALSE(remembers(GetParam(), file / "below"));

  // A folder has the file's name.
  fill_cache(GetParam(), scratch.path() / "cache");
  const fs::path name = files_in(scratch.path() / "cache").at(0);
  fs::remove(name);
  scratch.write(fs::relative(name, scratch.path()) / "in the way", "");
  fill_cache(GetParam(), scratch.path() / "cache");
  EXPECT_FALSE(remembers(GetParam(), scratch.path() / "cache"));
  EXPECT_EQ(files_in(scratch.path() / "cache").size(), 1u) << "nothing is left beside it";
}

}  // namespace
}  // namespace ferry::gpu
