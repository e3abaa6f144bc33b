#include "converter/graph/weights.h"

#include <gtest/gtest.h>

#include "converter/graph/ops.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

struct WeightsFixture {
  explicit WeightsFixture(Naming n = {.framework = "timm"}, Ledger::Mode mode = Ledger::Mode::Read)
      : naming(std::move(n)), ledger(file, naming, mode), w(graph, ledger) {}
  std::shared_ptr<MemoryCheckpoint> file = std::make_shared<MemoryCheckpoint>();
  Naming naming;
  Graph graph;
  Ledger ledger;
  Weights w;
};

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(Weights, PrefixesNest) {
  WeightsFixture f;
  EXPECT_EQ(f.w["layer1"][0]["conv1"].path(), "layer1.0.conv1");
  EXPECT_EQ(f.w["layer1.0.conv1"].path(), "layer1.0.conv1");
}

TEST(Weights, PyTorchKernelsBecomeOutHeightWidthIn) {
  WeightsFixture f;
  f.file->add("conv.weight", {2, 3, 2, 1}, counting(12));  // O,I,KH,KW
  const Tensor kernel = f.w["conv"].kernel({2, 2, 1, 3});
  EXPECT_EQ(kernel.shape(), (Shape{2, 2, 1, 3}));
  EXPECT_EQ(f.graph.values(kernel.id), (std::vector<double>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
}

TEST(Weights, KerasKernelsAndMatricesAreTransposed) {
  WeightsFixture f({.framework = "keras", .layout = WeightLayout::Keras});
  f.file->add("conv/kernel", {1, 2, 3, 2}, counting(12));  // KH,KW,I,O
  f.file->add("fc/kernel", {2, 3}, counting(6));           // I,O
  f.file->add("fc/bias", {3}, counting(3));
  EXPECT_EQ(f.graph.values(f.w["conv"].kernel({2, 1, 2, 3}).id),
            (std::vector<double>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(f.graph.values(f.w["fc"].matrix({3, 2}).id), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(f.graph.values(f.w["fc"]("bias").id), (std::vector<double>{0, 1, 2}));
  f.ledger.finish();
}

TEST(Weights, KernelsOfOnePixelAndMatricesShareTheCheckpointsMemory) {
  WeightsFixture f;
  f.file->add("conv.weight", {4, 3, 1, 1});
  f.file->add("fc.weight", {4, 3});
  for (const char* module : {"conv", "fc"}) {
    const Weights w = f.w[module];
    const Tensor t = w.path() == "conv" ? w.kernel({4, 1, 1, 3}) : w.matrix({4, 3});
    EXPECT_EQ(f.graph.constant(t.id).bytes.data(), f.file->tensors().at(w.path() + ".weight").bytes.data());
  }
}

TEST(Weights, DoublesStayDoubles) {
  WeightsFixture f;
  f.file->add("fc.weight", {1, 1}, std::vector<double>{1.0 / 3});
  EXPECT_EQ(f.graph.values(f.w["fc"].matrix({1, 1}).id), std::vector<double>{1.0 / 3});
}

TEST(Weights, AMissingKeyIsNamedWithItsModule) {
  WeightsFixture f({.framework = "transformers", .keys = {{"layer{s}.conv", {"stages.{s-1}.convolution"}}}});
  EXPECT_EQ(complaint([&] {
              f.w["layer2.conv"].kernel({0, 0, 0, 0});
            }),
            "the checkpoint has no 'stages.1.convolution.weight', which module 'layer2.conv' needs");
  EXPECT_EQ(complaint([&] { f.w["bn"].values("running_mean", 4); }),
            "the checkpoint has no 'bn.running_mean', which module 'bn' needs");
}

TEST(Weights, AMismatchedShapeIsReportedInTheFrameworksOrder) {
  WeightsFixture f;
  f.file->add("layer1.conv1.weight", {64, 64, 1, 1});
  f.file->add("fc.weight", {1000, 512});
  f.file->add("fc.bias", {1000});
  EXPECT_EQ(complaint([&] {
              f.w["layer1.conv1"].kernel({64, 3, 3, 64});
            }),
            "'layer1.conv1.weight' has shape [64,64,1,1], but module 'layer1.conv1' needs [64,64,3,3]");
  EXPECT_EQ(complaint([&] {
              f.w["fc"].matrix({0, 2048});
            }),
            "'fc.weight' has shape [1000,512], but module 'fc' needs [?,2048]");
  EXPECT_EQ(complaint([&] { f.w["fc"]("bias", {10}); }), "'fc.bias' has shape [1000], but module 'fc' needs [10]");
}

TEST(Weights, IntegersAreNoWeights) {
  WeightsFixture f;
  f.file->add("fc.weight", {1, 1}, std::vector<float>{1});
  f.file->set_type("fc.weight", ElementType::I32);
  EXPECT_EQ(complaint([&] {
              f.w["fc"].matrix({1, 1});
            }),
            "'fc.weight' is I32: weights of module 'fc' must be floating-point");
}

TEST(Weights, AModuleThatRunsAgainHasTheSameConstantsAndNamesOfItsOwn) {
  WeightsFixture f({.framework = "timm", .taps = {{"fc", {"fc", "head#3"}}}});
  f.file->add("fc.weight", {2, 3});
  f.file->add("fc.table", {2});
  const Weights first = f.w["fc"], second = f.w.again(1)["fc"];
  const Tensor weight = first.matrix({2, 3});
  const auto doubled = [&] { return first("table") * 2.0; };
  const Tensor twice = first.once("doubled", doubled);
  EXPECT_EQ(second.matrix({2, 3}).id, weight.id);
  EXPECT_EQ(second.once("doubled", doubled).id, twice.id);
  EXPECT_EQ(second.values("table", 2), f.graph.values(second("table").id));
  first["index"].discard();
  second["index"].discard();
  EXPECT_EQ(first.tap_names(), (std::vector<std::string>{"fc", "head#3"}));
  EXPECT_EQ(second.tap_names(), (std::vector<std::string>{"fc#1", "head#4"}));
  EXPECT_NE(complaint([&] {
              first.matrix({2, 3});
            }).find("is used twice"),
            std::string::npos)
      << "the first run still reads each key once";
  f.ledger.finish();
}

TEST(Ledger, KeysThatNobodyReadAreReportedTogether) {
  WeightsFixture f;
  for (int i = 0; i < 7; ++i) f.file->add("extra" + std::to_string(i) + ".weight", {2, 3});
  f.file->add("fc.weight", {2, 3});
  f.w["fc"].matrix({2, 3});
  EXPECT_EQ(complaint([&] { f.ledger.finish(); }),
            "the network does not use 7 keys of the checkpoint: 'extra0.weight' [2,3], 'extra1.weight' [2,3], "
            "'extra2.weight' [2,3], 'extra3.weight' [2,3], 'extra4.weight' [2,3] and 2 more (--ignore-keys REGEX "
            "leaves out keys that "
            "do not matter)");
}

TEST(Ledger, BatchCountersAndDiscardedModulesNeedNotBeRead) {
  WeightsFixture f;
  f.file->add("bn1.num_batches_tracked", {});
  f.file->add("fc.weight", {2, 3});
  f.file->add("fc.bias", {2});
  EXPECT_NE(complaint([&] { f.ledger.finish(); }), "no error");
  f.w["fc"].discard();
  EXPECT_EQ(complaint([&] { f.ledger.finish(); }), "no error");
}

TEST(Ledger, DiscardingAModuleLeavesThoseWhoseNameBeginsLikeIt) {
  WeightsFixture f;
  f.file->add("fc.weight", {2, 3});
  f.file->add("fc2.weight", {2, 3});
  f.w["fc"].discard();
  EXPECT_EQ(
      complaint([&] { f.ledger.finish(); }),
      "the network does not use 1 key of the checkpoint: 'fc2.weight' [2,3] (--ignore-keys REGEX leaves out keys that "
      "do not matter)");
}

TEST(Ledger, TwoRulesThatLeadToOneKeyAreRefused) {
  WeightsFixture f({.framework = "timm", .keys = {{"a", {"shared"}}, {"b", {"shared"}}}});
  f.file->add("shared.weight", {2, 3});
  f.w["a"].matrix({2, 3});
  EXPECT_EQ(complaint([&] {
              f.w["b"].matrix({2, 3});
            }),
            "'shared.weight' is used twice, the second time by module 'b': two names map to one key");
}

TEST(Ledger, TryingReadsShapesOnly) {
  WeightsFixture f({.framework = "timm"}, Ledger::Mode::Try);
  f.file->add("fc.weight", {2, 3}, std::vector<float>{});  // an empty tensor
  EXPECT_EQ(f.graph.values(f.w["fc"].matrix({2, 3}).id), std::vector<double>(6, 0.0));
  EXPECT_NE(complaint([&] { f.w["fc"].matrix({2, 4}); }), "no error");
  f.ledger.finish();
}

}  // namespace
}  // namespace ferry
