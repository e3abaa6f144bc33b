// Drivers that are right at small sizes and sometimes wrong at a model's own: kernels are replayed at these sizes, a
// watch compares rows of running networks with the CPU, and an audit reports how often kernels differ. The fault layer
// corrupts tiles at random.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sdk/gpu/canary/canary.h"
#include "sdk/gpu/canary/denormals.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/device/shaders.h"
#include "tests/gpu/faults.h"
#include "tests/gpu/planted_fault.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr uint32_t kRowsOfNetwork = 512, kWidth = 64;

// x [512,64] -> two products with an activation between -> y: dispatches of far more workgroups than canaries have.
std::unique_ptr<Graph> products() {
  auto graph = std::make_unique<Graph>();
  const auto constant = [&](const char* name, const Shape& shape, uint32_t seed) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i)) / 8;
    return graph->add_constant(name, shape, values);
  };
  const auto width = static_cast<int32_t>(kWidth);
  Tensor x = graph->add_input("x", {static_cast<int32_t>(kRowsOfNetwork), width}, fbs::Layout::Same);
  fbs::UnaryT silu;
  silu.kind = fbs::UnaryKind::Silu;
  Tensor first =
      graph->add_op("first", fbs::LinearT(), {x, constant("w", {width, width}, 1), constant("b", {width}, 2)});
  Tensor activated = graph->add_op("activation", silu, {first});
  graph->add_output("y", graph->add_op("second", fbs::LinearT(), {activated, constant("v", {width, width}, 3)}),
                    fbs::Layout::Same);
  return graph;
}

ferry_report report_of(const SessionPtr& session) {
  ferry_report report = FERRY_INIT(ferry_report);
  EXPECT_OK(ferry_session_report(session.get(), &report));
  return report;
}

std::string notes_of(const SessionPtr& session) {
  std::string all;
  for (size_t i = 0; i < report_of(session).note_count; ++i)
    all += std::string(ferry_session_report_note(session.get(), i)) + "\n";
  return all;
}

ferry_kernel_check check_kernels(const SessionPtr& session, double seconds = 0) {
  ferry_kernel_check check = FERRY_INIT(ferry_kernel_check);
  EXPECT_OK(ferry_session_check_kernels(session.get(), seconds, &check));
  return check;
}

class Replays : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
    gpu_ = test_gpus()[0];
  }

  ferry_session_options on(const std::string& gpu) const {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_retry = true;  // earlier tests may have lost the device
    options.gpu_device = gpu.c_str();
    return options;
  }
  void expect_right(const SessionPtr& session, double bound = 1e-5) {
    fill_inputs(opened_.model, session.get());
    expect_oracle(*graph_, opened_.model, session.get(), bound);
  }

  std::string gpu_;
  const std::unique_ptr<Graph> graph_ = products();
  const Opened opened_{*graph_};
};

// ---- right drivers --------------------------------------------------------------------------------------------------

TEST_F(Replays, FindRightKernelsRightAndKeepTheVerdicts) {
  for (const std::string& gpu : test_gpus())
    for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
      SCOPED_TRACE(gpu + (precision == FERRY_PRECISION_FLOAT16 ? ", float16" : ""));
      const ScratchFolder cache;
      ferry_session_options options = on(gpu);
      options.precision = precision;
      options.cache_dir = cache.path().c_str();
      {
        const SessionPtr session = make_session(opened_.model, options);
        const ferry_kernel_check check = check_kernels(session);
        EXPECT_EQ(check.failures, 0u) << notes_of(session);
        EXPECT_EQ(check.kernels, 2u);
        EXPECT_EQ(check.checked, check.kernels);
        EXPECT_GE(check.replays, 128 * check.kernels);
        expect_right(session, precision == FERRY_PRECISION_FLOAT16 ? 5e-3 : 1e-5);
      }
      const SessionPtr later = make_session(opened_.model, options);
      const ferry_kernel_check known = check_kernels(later);
      EXPECT_EQ(known.checked, known.kernels);
      EXPECT_EQ(known.replays, 0u);
      EXPECT_EQ(notes_of(later), "");
    }
}

TEST_F(Replays, GoOnWhereTheTimeWasOver) {
  const SessionPtr session = make_session(opened_.model, on(gpu_));
  ferry_kernel_check check{};
  for (int call = 0; call < 10 && (call == 0 || check.checked < check.kernels); ++call) {
    const size_t before = check.checked;
    check = check_kernels(session, 1e-6);
    EXPECT_GE(check.checked, before);
  }
  check = check_kernels(session);
  EXPECT_EQ(check.checked, check.kernels);
}

TEST_F(Replays, AreRefusedOnTheCpuAndForNegativeTimes) {
  const SessionPtr session = make_session(opened_.model, 1);
  ferry_kernel_check check = FERRY_INIT(ferry_kernel_check);
  EXPECT_EQ(ferry_session_check_kernels(session.get(), 0, &check), FERRY_GPU_UNAVAILABLE);
  EXPECT_EQ(ferry_session_check_kernels(session.get(), -1, &check), FERRY_INVALID_ARGUMENT);
  check.struct_size = 1;
  EXPECT_EQ(ferry_session_check_kernels(session.get(), 0, &check), FERRY_INVALID_ARGUMENT);
  ferry_session_options options = on(gpu_);
  options.gpu_watch = 1.5;
  ferry_session* refused = nullptr;
  EXPECT_EQ(ferry_session_create(opened_.model, &options, &refused), FERRY_INVALID_ARGUMENT);
}

TEST_F(Replays, IgnoreDamagedVerdicts) {
  const ScratchFolder cache;
  ferry_session_options options = on(gpu_);
  options.cache_dir = cache.path().c_str();
  check_kernels(make_session(opened_.model, options), 1e-3);  // one kernel
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(cache.path()))
    if (entry.path().extension() == ".verdicts") file = entry.path();
  ASSERT_NE(file, "");
  std::string text = (std::ostringstream() << std::ifstream(file).rdbuf()).str();
  text[text.size() - 4] ^= 1;
  cache.write(file.filename(), text);
  const SessionPtr session = make_session(opened_.model, options);
  EXPECT_NE(notes_of(session).find("is damaged"), std::string::npos) << notes_of(session);
  EXPECT_GT(check_kernels(session, 1e-3).replays, 0u);
}

TEST_F(Replays, WatchesRightDriversWithoutAlarm) {
  for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
    ferry_session_options options = on(gpu_);
    options.precision = precision;
    options.gpu_watch = 1;
    const SessionPtr session = make_session(opened_.model, options);
    for (uint32_t run = 0; run < 30; ++run) {
      fill_inputs(opened_.model, session.get(), run);
      ASSERT_OK(ferry_session_run(session.get()));
    }
    const ferry_report report = report_of(session);
    EXPECT_EQ(report.gpu_status, FERRY_OK) << report.message;
    EXPECT_GT(report.watched_runs, 0u);
  }
}

// A watch waits until the time of the runs pays for it.
TEST_F(Replays, WatchNothingForNoTime) {
  ferry_session_options options = on(gpu_);
  options.gpu_watch = 1e-9;
  const SessionPtr session = make_session(opened_.model, options);
  fill_inputs(opened_.model, session.get());
  for (int run = 0; run < 5; ++run) ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(report_of(session).watched_runs, 0u);
}

// A small version; FERRY_GPU_RUNS=100000 is run by hand on every driver (docs/vulkan.md, "How to test").
TEST_F(Replays, GiveNoFalseAlarmInManyRuns) {
  const char* given = std::getenv("FERRY_GPU_RUNS");
  const int runs = given != nullptr ? std::atoi(given) : 100;
  for (const std::string& gpu : test_gpus())
    for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
      ferry_session_options options = on(gpu);
      options.precision = precision;
      options.gpu_watch = 0.5;
      const auto network = residual_network(1, 8, 3);
      const Opened opened(*network);
      const SessionPtr session = make_session(opened.model, options);
      for (int run = 0; run < runs; ++run) {
        fill_inputs(opened.model, session.get(), static_cast<uint32_t>(run));
        ASSERT_OK(ferry_session_run(session.get()));
        ASSERT_EQ(report_of(session).gpu_status, FERRY_OK) << report_of(session).message << ", run " << run;
      }
      EXPECT_EQ(check_kernels(session).failures, 0u) << notes_of(session);
      RecordProperty(gpu + (precision == FERRY_PRECISION_FLOAT16 ? "_f16" : "_f32"),
                     static_cast<int>(report_of(session).watched_runs));
      if (given != nullptr)
        std::printf("%s, %s: %d runs, %zu watched, no alarm\n", gpu.c_str(),
                    precision == FERRY_PRECISION_FLOAT16 ? "float16" : "float32", runs,
                    report_of(session).watched_runs);
    }
}

// ---- drivers that are wrong at times --------------------------------------------------------------------------------

std::vector<uint32_t> read_words(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

class WrongAtTimes : public Replays {
 protected:
  void SetUp() override {
    Replays::SetUp();
    if (IsSkipped()) return;
    const std::vector<uint32_t> shader = read_words(FERRY_CORRUPTING_SHADER);
    ASSERT_FALSE(shader.empty());
    faults_.set_corrupting_shader(shader.data(), shader.size());
    gpu::Shaders shaders;
    shaders.load();
    for (const gpu::Kernel kernel : {gpu::Kernel::Matmul, gpu::Kernel::MatmulShared, gpu::Kernel::Matvec})
      for (const gpu::Storage storage : {gpu::Storage::Float32, gpu::Storage::Float16}) {
        const std::span<const uint32_t> code = shaders.code(kernel, storage);
        faults_.corrupt_kernel(code.data(), code.size());
      }
  }
  void expect_found_by_replays(double probability, uint64_t seed) {
    SCOPED_TRACE(std::to_string(probability) + ", seed " + std::to_string(seed));
    const ScratchFolder cache;
    faults_.corrupt(kGroups, probability, seed);
    ferry_session_options options = on(gpu_);
    options.cache_dir = cache.path().c_str();
    {
      const SessionPtr session = make_session(opened_.model, options);
      const ferry_kernel_check check = check_kernels(session);
      EXPECT_GE(check.failures, 1u);
      EXPECT_NE(notes_of(session).find("differed in"), std::string::npos) << notes_of(session);
      for (int run = 0; run < 3; ++run) expect_right(session);
    }
    const uint64_t corrupted = faults_.corrupted();
    const SessionPtr later = make_session(opened_.model, options);  // reads the verdicts
    EXPECT_NE(notes_of(later).find("differed in"), std::string::npos) << notes_of(later);
    for (int run = 0; run < 3; ++run) expect_right(later);
    EXPECT_EQ(faults_.corrupted(), corrupted);
  }
  // Returns the number of runs until the watch has found it; 0: it did not within `limit`.
  int runs_until_watched(double probability, uint64_t seed, int limit) {
    faults_.corrupt(kGroups, 0, seed);
    ferry_session_options options = on(gpu_);
    options.gpu_watch = 1;
    const SessionPtr session = make_session(opened_.model, options);
    fill_inputs(opened_.model, session.get());
    faults_.corrupt(kGroups, probability, seed);
    for (int run = 1; run <= limit; ++run) {
      EXPECT_OK(ferry_session_run(session.get()));
      if (report_of(session).gpu_status != FERRY_OK) return run;
    }
    return 0;
  }

  // Products of so many workgroups are wrong; canaries have fewer.
  static constexpr uint32_t kGroups = 12;

  Faults faults_;
};

TEST_F(WrongAtTimes, CanariesAtSmallSizesMissIt) {
  faults_.corrupt(kGroups, 0.5, 1);
  const SessionPtr session = make_session(opened_.model, on(gpu_));
  EXPECT_EQ(report_of(session).canary_failures, 0u);
  EXPECT_EQ(faults_.corrupted(), 0u);
  fill_inputs(opened_.model, session.get());
  for (int run = 0; run < 10; ++run) ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_GT(faults_.corrupted(), 0u);
}

// Of 128 runs of a product, one at least is wrong with probability 0.9986 at 0.05, and above that nearly always. The
// seeds are fixed.
TEST_F(WrongAtTimes, IsFoundByReplays) { expect_found_by_replays(0.05, 1); }

TEST_F(WrongAtTimes, IsFoundByTheWatchAndTheRunEndsOnTheCpu) {
  faults_.corrupt(kGroups, 0, 1);
  const ScratchFolder cache;
  ferry_session_options options = on(gpu_);
  options.cache_dir = cache.path().c_str();
  options.gpu_watch = 1;
  const SessionPtr session = make_session(opened_.model, options);
  expect_right(session);
  faults_.corrupt(kGroups, 0.5, 7);
  int runs = 0;
  for (; runs < 500 && report_of(session).gpu_status == FERRY_OK; ++runs) ASSERT_OK(ferry_session_run(session.get()));
  const ferry_report report = report_of(session);
  EXPECT_EQ(report.gpu_status, FERRY_GPU_WRONG) << "after " << runs << " runs, watched " << report.watched_runs;
  EXPECT_NE(std::string(report.message).find("the GPU computed linear"), std::string::npos) << report.message;
  EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
  expect_right(session);
  const SessionPtr later = make_session(opened_.model, options);  // does not use that kernel
  EXPECT_NE(notes_of(later).find("the GPU computed linear"), std::string::npos) << notes_of(later);
}

// Labelled long.
class WrongAtAnyRate : public WrongAtTimes {};

TEST_F(WrongAtAnyRate, IsFoundByReplays) {
  for (const double probability : {0.05, 0.1, 0.25, 0.5})
    for (uint64_t seed = 1; seed <= 3; ++seed) expect_found_by_replays(probability, seed);
}

// By the formula of docs/vulkan.md with p = 0.01, n = 2 and h = 1/16: 95 % of faults within 940 watched runs if all 16
// rows are affordable.
TEST_F(WrongAtAnyRate, IsFoundByTheWatch) {
  for (const double probability : {0.01, 0.02, 0.04})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const int runs = runs_until_watched(probability, seed, 5000);
      EXPECT_GT(runs, 0) << probability << ", seed " << seed;
      RecordProperty(std::to_string(probability) + "_" + std::to_string(seed), runs);
    }
}

TEST_F(WrongAtTimes, IsReportedByAnAudit) {
  faults_.corrupt(kGroups, 0.3, 3);
  const ScratchFolder root;
  std::filesystem::create_directories(root.path() / "sys/class/thermal/thermal_zone0");
  root.write("sys/class/thermal/thermal_zone0/type", "gpu-thermal\n");
  root.write("sys/class/thermal/thermal_zone0/temp", "41500\n");
  const std::string path = root.path().string();
  ferry_session_options options = on(gpu_);
  ferry_audit_options how = FERRY_INIT(ferry_audit_options);
  how.root = path.c_str();
  ferry_audit* audit = nullptr;
  ASSERT_OK(ferry_gpu_audit(opened_.model, &options, &how, &audit));
  ferry_audit_summary summary = FERRY_INIT(ferry_audit_summary);
  EXPECT_OK(ferry_audit_result(audit, &summary));
  EXPECT_FALSE(summary.passed);
  EXPECT_STREQ(summary.lost, "");
  ASSERT_EQ(ferry_audit_operator_count(audit), 2u);
  for (size_t i = 0; i < 2; ++i) {
    ferry_audited_operator op;
    ASSERT_OK(ferry_audit_operator(audit, i, &op));
    EXPECT_STREQ(op.op, "linear");
    EXPECT_STREQ(op.shape, "[512,64]");
    const double share = static_cast<double>(op.differed) / static_cast<double>(op.runs);
    EXPECT_GT(share, 0.15);
    EXPECT_LT(share, 0.75);
    EXPECT_TRUE(op.compared);
  }
  ASSERT_EQ(ferry_audit_sensor_count(audit), 1u);
  ferry_audited_sensor sensor;
  ASSERT_OK(ferry_audit_sensor(audit, 0, &sensor));
  EXPECT_STREQ(sensor.name, "gpu-thermal");
  EXPECT_STREQ(sensor.unit, "C");
  EXPECT_EQ(sensor.highest, 41.5);
  ferry_audited_operator none;
  EXPECT_EQ(ferry_audit_operator(audit, 2, &none), FERRY_INVALID_ARGUMENT);
  ferry_audit_close(audit);
}

// ---- float16 denormals ----------------------------------------------------------------------------------------------

TEST_F(Replays, FindFlushedDenormals) {
  const ScratchFolder scratch;
  std::shared_ptr<gpu::Device> device;
  bool flushes = true;
  ASSERT_TRUE(gpu::Device::open(test_gpus()[0].c_str(), nullptr, true, &device).ok());
  ASSERT_TRUE(gpu::flushes_float16(*device, &flushes).ok());
  EXPECT_FALSE(flushes);
  device.reset();
  ASSERT_TRUE(gpu::Device::open(test_gpus()[0].c_str(), nullptr, true, &device).ok());
  std::vector<uint32_t> code =
      compile_with_fault("download", "download.comp", "= LOAD_INPUT(i);",
                         "= mix(LOAD_INPUT(i), vec4(0), lessThan(abs(LOAD_INPUT(i)), vec4(6.1035e-5)));", true,
                         scratch.path() / "shaders");
  ASSERT_FALSE(code.empty());
  device->pipelines().shaders().replace(gpu::Kernel::Download, gpu::Storage::Float16, std::move(code));
  ASSERT_TRUE(gpu::flushes_float16(*device, &flushes).ok());
  EXPECT_TRUE(flushes);
  ferry_session_options options = on(gpu_);
  options.precision = FERRY_PRECISION_FLOAT16;
  const SessionPtr session = make_session(opened_.model, options);  // shares the device
  EXPECT_NE(notes_of(session).find("below 2^-14"), std::string::npos) << notes_of(session);
}

// ---- no atomics -----------------------------------------------------------------------------------------------------

// The number of atomic instructions in a SPIR-V module. Sums in the order of their arrival would differ between runs;
// sums of floats by way of integers' compare-and-exchange, too. So there are none of any type.
size_t count_atomics(std::span<const uint32_t> code) {
  size_t count = 0;
  for (size_t i = 5; i < code.size(); i += std::max(code[i] >> 16, 1u)) {
    const uint32_t op = code[i] & 0xffff;
    count += (op >= 227 && op <= 242) || op == 318 || op == 319 || op == 5614 || op == 5615 || op == 6035;
  }
  return count;
}

TEST(ShaderCode, HasNoAtomics) {
  gpu::Shaders shaders;
  shaders.load();
  size_t modules = 0;
  for (size_t k = 0; k < gpu::kKernelCount; ++k)
    for (const gpu::Storage storage : {gpu::Storage::Float32, gpu::Storage::Float16}) {
      const std::span<const uint32_t> code = shaders.code(static_cast<gpu::Kernel>(k), storage);
      modules += !code.empty();
      EXPECT_EQ(count_atomics(code), 0u) << gpu::kernel_name(static_cast<gpu::Kernel>(k));
    }
  EXPECT_GT(modules, 60u);
  const ScratchFolder scratch;
  const std::vector<uint32_t> planted =
      compile_with_fault("compare", "compare.comp", "counts[push.first_count + gl_WorkGroupID.x] = different;",
                         "atomicAdd(counts[0], different);", false, scratch.path() / "shaders");
  ASSERT_FALSE(planted.empty());
  EXPECT_EQ(count_atomics(planted), 1u);
}

}  // namespace
}  // namespace ferry::testing
