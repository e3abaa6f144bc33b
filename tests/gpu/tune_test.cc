// Tuning chooses among the applicable alternatives, once per device and signature, and never changes results.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "converter/pack/pack.h"
#include "sdk/gpu/backend/tune.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/graph/session.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr double kTuneBound = 1e-5;  // of two sums of up to 288 products in float32

// A convolution with an activation, a mean, a linear: each with several alternatives; and a softmax.
std::unique_ptr<Graph> tuned_network() {
  auto graph = std::make_unique<Graph>();
  const auto constant = [&](const char* name, const Shape& shape, uint32_t seed) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
    return graph->add_constant(name, shape, values);
  };
  fbs::Conv2dT conv;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
  fbs::UnaryT silu;
  silu.kind = fbs::UnaryKind::Silu;
  fbs::ReduceT mean;
  mean.axes = {1, 2};
  Tensor x = graph->add_input("x", {1, 20, 21, 32}, fbs::Layout::Same);
  x = graph->add_op("conv", conv, {x, constant("w", {24, 3, 3, 32}, 1), constant("b", {24}, 2)});
  x = graph->add_op("silu", silu, {x});
  x = graph->add_op("mean", mean, {x});
  x = graph->add_op("linear", fbs::LinearT(), {x, constant("lw", {10, 24}, 3)});
  graph->add_output("y", graph->add_op("softmax", fbs::SoftmaxT(), {x}), fbs::Layout::Same);
  return graph;
}

class Tune : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
    ASSERT_TRUE(Model::open_memory(blob_.data(), blob_.size(), &model_).ok());
    for (const TensorId t : graph_->tensors()) shapes_.push_back(graph_->shape(t));
    kept_.assign(shapes_.size(), false);
    kept_[output()] = true;
  }

  TensorId output() const { return graph_->table.outputs[0]->tensor; }

  std::vector<float> run(const SessionOptions& options) const {
    std::unique_ptr<Session> session;
    Status status = Session::create(model_, options, &session);
    if (status.ok()) {
      const TensorId input = graph_->table.inputs[0]->tensor;
      std::vector<float> values(static_cast<size_t>(graph_->shape(input).elements()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = noise(7, static_cast<uint32_t>(i));
      std::memcpy(session->data(input), values.data(), values.size() * sizeof(float));
      status = session->run();
    }
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return {};
    EXPECT_EQ(session->computing().report().canary_failures, 0u);
    const auto* got = static_cast<const float*>(session->data(output()));
    return {got, got + graph_->shape(output()).elements()};
  }

  // The stored choice for each chain: -1 if there is none.
  std::vector<int> choices(gpu::Device& device, gpu::Storage storage) const {
    std::vector<int> out;
    for (const gpu::Chain& chain : gpu::make_chains(*model_, shapes_, kept_))
      out.push_back(device.pipelines().tuned(gpu::signature(*model_, chain, shapes_, storage)));
    return out;
  }

  std::unique_ptr<Graph> graph_ = tuned_network();
  AlignedBytes blob_{pack(*graph_)};
  std::shared_ptr<Model> model_;
  Shapes shapes_;
  PerTensor<bool> kept_;
};

TEST_F(Tune, IsDoneOnceAndKept) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    const ScratchFolder scratch;
    const std::string folder = scratch.path().string();
    SessionOptions options;
    options.num_threads = 1;
    const std::vector<float> expected = run(options);
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_tune = true;
    options.gpu_device = gpu.c_str();
    options.gpu_cache_dir = folder.c_str();
    const std::vector<float> got = run(options);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], kTuneBound);

    // Another device object, which knows only the file.
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), folder.c_str(), false, &device).ok());
    const std::vector<int> first = choices(*device, gpu::Storage::Float32);
    const std::vector<gpu::Chain> chains = gpu::make_chains(*model_, shapes_, kept_);
    size_t chosen = 0;
    for (size_t i = 0; i < chains.size(); ++i) {
      const gpu::Problem problem =
          gpu::problem_of(*model_, chains[i], shapes_, gpu::Storage::Float32, device->limits());
      EXPECT_LT(first[i], gpu::alternatives(problem.op.params_type()));
      if (first[i] < 0) continue;
      ++chosen;
      gpu::Program program{.shapes = shapes_};
      gpu::Step step;
      EXPECT_TRUE(gpu::lower_by(problem, first[i], &program, &step).ok()) << "alternative " << first[i];
    }
    EXPECT_GE(chosen, 2u);

    size_t measured = 1;
    ASSERT_TRUE(gpu::tune(*model_, shapes_, kept_, *device, gpu::Storage::Float32, &measured).ok());
    EXPECT_EQ(measured, 0u);
    EXPECT_EQ(choices(*device, gpu::Storage::Float32), first);
    EXPECT_EQ(run(options), got) << "the same alternatives give the same bits";

    // Each precision has its own choice.
    ASSERT_TRUE(gpu::tune(*model_, shapes_, kept_, *device, gpu::Storage::Float16, &measured).ok());
    EXPECT_EQ(measured, chosen);
  }
}

// What somebody put in the place of the file is not opened: a FIFO would wait for its writer.
TEST_F(Tune, AFifoInTheCacheIsNoFile) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  const std::string gpu = test_gpus()[0];
  options.gpu_device = gpu.c_str();
  options.gpu_cache_dir = folder.c_str();
  const std::vector<float> expected = run(options);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  ASSERT_FALSE(files.empty());
  for (const auto& path : files) {
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  }
  EXPECT_EQ(run(options), expected);
}

// A choice of another build, or a damaged one, is ignored if it does not apply.
TEST_F(Tune, AnInapplicableChoiceIsIgnored) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
    for (const gpu::Chain& chain : gpu::make_chains(*model_, shapes_, kept_))
      device->pipelines().set_tuned(gpu::signature(*model_, chain, shapes_, gpu::Storage::Float32), 1000);
    SessionOptions options;
    options.num_threads = 1;
    const std::vector<float> expected = run(options);
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_device = gpu.c_str();
    const std::vector<float> got = run(options);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], kTuneBound);
  }
}

}  // namespace
}  // namespace ferry::testing
