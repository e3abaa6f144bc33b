#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/op.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/seeded.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

// Two convolutions that share a weight tensor, the second one grouped, and a linear layer.
class PackedWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    Graph graph;
    const Tensor x = graph.add_input("x", {1, 4, 4, 8}, fbs::Layout::Same);
    const Tensor half = graph.add_op("half", slice(), {x});
    const Tensor weight = graph.add_constant("weight", {8, 3, 3, 4}, std::vector<float>(8 * 9 * 4, 0.5f));
    fbs::Conv2dT whole, grouped;
    grouped.groups = 2;
    const Tensor first = graph.add_op("first", whole, {half, weight});
    const Tensor second = graph.add_op("second", grouped, {x, weight});
    const Tensor matrix = graph.add_constant("matrix", {5, 8}, std::vector<float>(40, 0.25f));
    const Tensor third = graph.add_op("third", fbs::LinearT(), {first, matrix});
    graph.add_output("second", second, fbs::Layout::Same);
    graph.add_output("third", third, fbs::Layout::Same);
    blob_.emplace(pack(graph));
    ASSERT_TRUE(Model::open_memory(blob_->data(), blob_->size(), &model_).ok());
    ASSERT_TRUE(cpu::initialize().ok());
  }

  // Creates all ops of the model, like a session.
  std::vector<std::unique_ptr<cpu::Op>> create_all() const {
    std::vector<std::unique_ptr<cpu::Op>> ops;
    for (const fbs::Operator* op : *model_->graph().operators()) {
      ops.emplace_back();
      const Status status = cpu::create_op(cpu::cpu_features(), *model_, *op, &ops.back());
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return ops;
  }

  std::optional<testing::AlignedBytes> blob_;
  std::shared_ptr<Model> model_;

 private:
  static fbs::SliceT slice() {
    fbs::SliceT p;
    p.begin = {0, 0, 0, 0};
    p.size = {-1, -1, -1, 4};
    return p;
  }
};

TEST_F(PackedWeights, HoldsNothingBeforeTheFirstSession) { EXPECT_EQ(model_->packed().bytes(), 0u); }

TEST_F(PackedWeights, SessionsShareWhatTheFirstPacked) {
  const auto first = create_all();
  const uint64_t bytes = model_->packed().bytes();
  EXPECT_GE(bytes, (2 * 8 * 9 * 4 + 40) * sizeof(float));  // the shared tensor once per layout
  const auto second = create_all();
  EXPECT_EQ(model_->packed().bytes(), bytes);
}

TEST_F(PackedWeights, PackedWeightsOutliveTheSessionThatPackedThem) {
  create_all();
  const uint64_t bytes = model_->packed().bytes();
  EXPECT_GT(bytes, 0u);
  const auto later = create_all();
  EXPECT_EQ(model_->packed().bytes(), bytes);
}

TEST_F(PackedWeights, ThreadsMayCreateSessionsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this] {
      for (int k = 0; k < 10; ++k) create_all();
    });
  for (std::thread& thread : threads) thread.join();
  const uint64_t bytes = model_->packed().bytes();
  create_all();
  EXPECT_EQ(model_->packed().bytes(), bytes);
}

// The second conv2d has the first's kernel address. Packed in the same way, its groups would read past the end.
TEST_F(PackedWeights, OperatorsThatShareATensorAreKeptApart) {
  const auto ops = create_all();
  std::vector<float> x(16 * 8), y(4 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 8 < 4 ? 1 : 3);
  x.resize(x.size() + 4);  // kExtraBytes
  const std::vector<Shape> shapes = {{1, 4, 4, 8}, {8, 3, 3, 4}};
  const fbs::Operator& op = *model_->graph().operators()->Get(2);
  uint64_t workspace_bytes = 0;
  ASSERT_TRUE(ops[2]->reshape(shapes, {1, 2, 2, 8}, nullptr, &workspace_bytes).ok());
  std::vector<std::max_align_t> workspace(workspace_bytes / sizeof(std::max_align_t) + 8);
  const void* inputs[] = {x.data(), model_->constant(op.inputs()->Get(1)).data()};
  ASSERT_TRUE(ops[2]->setup(inputs, y.data(), workspace.data()).ok());
  ASSERT_TRUE(ops[2]->run(nullptr).ok());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i % 8 < 4 ? 18.0f : 54.0f) << i;
}

// Later versions read packed files of this version. If these bytes change, increment the layout's version in
// gemm_kernel_*.h, depthwise_op.h or winograd.cc, and update the hash.
void expect_packed_bytes(const cpu::CpuFeatures& features, uint64_t expected) {
  Graph graph;
  const auto numbers = [](size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 251) - 100;
    return values;
  };
  fbs::Conv2dT plain, depthwise;
  depthwise.groups = 24;
  const Tensor x = graph.add_input("x", {1, 32, 32, 24}, fbs::Layout::Same);
  const Tensor bias = graph.add_constant("bias", {24}, numbers(24));
  const Tensor gemm = graph.add_constant("gemm", {24, 1, 1, 24}, numbers(24 * 24));
  const Tensor cells = graph.add_constant("cells", {24, 3, 3, 1}, numbers(24 * 9));
  const Tensor kernels = graph.add_constant("kernels", {24, 3, 3, 24}, numbers(24 * 9 * 24));
  const Tensor y = graph.add_op("gemm", plain, {x, gemm, bias});
  const Tensor z = graph.add_op("depthwise", depthwise, {y, cells, bias});
  graph.add_output("winograd", graph.add_op("winograd", plain, {z, kernels, bias}), fbs::Layout::Same);
  const std::vector<std::byte> bytes = pack(graph);
  testing::AlignedBytes blob(bytes);
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open_memory(blob.data(), blob.size(), &model).ok());
  ASSERT_TRUE(cpu::initialize().ok());
  for (const fbs::Operator* op : *model->graph().operators()) {
    std::unique_ptr<cpu::Op> lowered;
    ASSERT_TRUE(cpu::create_op(features, *model, *op, &lowered).ok());
  }
  uint64_t hash = fnv1a64("");
  const auto entries = model->packed().entries();
  ASSERT_EQ(entries.size(), 4u) << "Winograd keeps its bias apart";
  for (const auto& e : entries) hash = fnv1a64({reinterpret_cast<const char*>(e.bytes.get()), e.size}, hash);
  EXPECT_EQ(hash, expected);
}

TEST(PackedLayouts, ForAvx512KeepTheirBytes) {
  if (!cpu::cpu_features().avx512f) GTEST_SKIP() << "this CPU lacks it";
  expect_packed_bytes(cpu::cpu_features(), 0xc32dedce93183843u);
}

TEST(PackedLayouts, ForAvx2KeepTheirBytes) {
  if (!cpu::cpu_features().avx2) GTEST_SKIP() << "this CPU lacks it";
  expect_packed_bytes({.avx2 = true}, 0xe2e84f1725edc79fu);
}

}  // namespace
}  // namespace ferry
