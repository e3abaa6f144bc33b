// A faulty driver leads to one clear status, and to the CPU.
#include <ferry/ferry.h>

#include "tests/gpu/faults.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

void expect_right(const Graph& graph, ferry_model* model, ferry_session* session) {
  fill_inputs(model, session);
  ASSERT_OK(ferry_session_run(session));
  const auto expected = expected_results(graph, session);
  for (const auto& [name, values] : results(model, session))
    EXPECT_LE(relative_error(values, expected.at(name)), 1e-5) << name;
}

// A session that prefers a GPU runs on the CPU, reports the reason in a message that contains `words`, and computes
// right results. A session that requires a GPU is refused with the same message.
void expect_cpu_because(const std::string& words, const char* gpu = nullptr,
                        ferry_status status = FERRY_GPU_UNAVAILABLE) {
  const auto graph = small_classifier();
  const Opened opened(*graph);
  ferry_session_options options = default_options();
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_device = gpu;
  const SessionPtr session = make_session(opened.model, options);
  ASSERT_NE(session, nullptr);
  expect_right(*graph, opened.model, session.get());

  ferry_report report{};
  report.struct_size = sizeof report;
  ASSERT_OK(ferry_session_report(session.get(), &report));
  EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
  EXPECT_EQ(report.gpu_status, status);
  EXPECT_NE(std::string(report.message).find(words), std::string::npos) << report.message;
  EXPECT_EQ(std::string(report.message).find('\n'), std::string::npos) << report.message;
  EXPECT_STREQ(report.device, "");

  options.gpu_required = true;
  ferry_session* refused = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, &options, &refused), status);
  EXPECT_EQ(SessionPtr(refused), nullptr);
  EXPECT_NE(std::string(ferry_last_error()).find(words), std::string::npos) << ferry_last_error();
}

// ctest starts this one in an environment without a loadable Vulkan library (tests/gpu/CMakeLists.txt).
TEST(NoVulkan, IsReportedAndTheCpuComputes) {
  if (!std::getenv("FERRY_TEST_NO_VULKAN")) GTEST_SKIP() << "run by ctest as gpu/no_vulkan";
  EXPECT_EQ(ferry_gpu_count(), 0u);
  expect_cpu_because("there is no Vulkan library");
}

class BadDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }
};

// Sets both names of the variable, because loaders prefer one or the other.
struct Drivers {
  explicit Drivers(const std::string& manifest)
      : files("VK_DRIVER_FILES", manifest), names("VK_ICD_FILENAMES", manifest) {}
  Environment files, names;
};

TEST_F(BadDriver, None) {
  const Drivers drivers("/nonexistent.json");
  EXPECT_EQ(ferry_gpu_count(), 0u);
  expect_cpu_because("Vulkan has no usable driver");
}

TEST_F(BadDriver, WhoseLibraryIsMissing) {
  const ScratchFolder folder;
  const auto manifest = folder.write("icd.json", R"({"file_format_version": "1.0.0",
      "ICD": {"library_path": "/nonexistent/libdriver.so", "api_version": "1.3.0"}})");
  const Drivers drivers(manifest);
  expect_cpu_because("Vulkan has no usable driver");
}

TEST_F(BadDriver, WhoseLibraryIsInvalid) {
  const ScratchFolder folder;
  const auto library = folder.write("libdriver.so", "not a library");
  const auto manifest = folder.write("icd.json", R"({"file_format_version": "1.0.0", "ICD": {"library_path": ")" +
                                                     library.string() + R"(", "api_version": "1.3.0"}})");
  const Drivers drivers(manifest);
  expect_cpu_because("Vulkan has no usable driver");
}

TEST_F(BadDriver, WithoutADevice) {
  Faults faults;
  faults.set_quirks(FAULT_NO_DEVICES);
  expect_cpu_because("no device");
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, WithoutAQueueThatComputes) {
  Faults faults;
  faults.set_quirks(FAULT_NO_COMPUTE_QUEUE);
  for (const std::string& gpu : test_gpus()) expect_cpu_because("it has no compute queue", gpu.c_str());
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, OfVulkan10) {
  Faults faults;
  faults.set_quirks(FAULT_VULKAN_1_0);
  for (const std::string& gpu : test_gpus()) expect_cpu_because("it has Vulkan 1.0; 1.1 is needed", gpu.c_str());
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, WithTooSmallWorkgroups) {
  Faults faults;
  faults.set_quirks(FAULT_SMALL_LIMITS);
  for (const std::string& gpu : test_gpus())
    expect_cpu_because("a workgroup may have 32 invocations; 128 are needed", gpu.c_str());
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, ThatListsAnExtensionItLacks) {
  Faults faults;
  faults.set_quirks(FAULT_LYING_EXTENSION);
  for (const std::string& gpu : test_gpus())
    expect_cpu_because("vkCreateDevice failed: VK_ERROR_EXTENSION_NOT_PRESENT", gpu.c_str(), FERRY_BACKEND_ERROR);
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, WithLessMemoryThanItSays) {
  Faults faults;
  faults.set_quirks(FAULT_LYING_MEMORY);
  for (const std::string& gpu : test_gpus())
    expect_cpu_because("vkAllocateMemory failed: VK_ERROR_OUT_OF_DEVICE_MEMORY", gpu.c_str(), FERRY_OUT_OF_MEMORY);
  faults.expect_nothing_alive();
}

// Weights then use a staging buffer.
TEST_F(BadDriver, ThatFailsToImportHostMemoryIsStillUsed) {
  Faults faults;
  faults.set_quirks(FAULT_LYING_IMPORT);
  const auto graph = small_classifier();
  const Opened opened(*graph);
  for (const std::string& gpu : test_gpus()) {
    ferry_session_options options = default_options();
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = gpu.c_str();
    options.gpu_required = true;
    const SessionPtr session = make_session(opened.model, options);
    ASSERT_NE(session, nullptr);
    expect_right(*graph, opened.model, session.get());
  }
  faults.expect_nothing_alive();
}

TEST_F(BadDriver, ThatIsUnknown) { expect_cpu_because("'no such device'", "no such device"); }

}  // namespace
}  // namespace ferry::testing
