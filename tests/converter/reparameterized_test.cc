// RepViT and FastViT without a parity fixture, against timm; and the number of convolutions after re-parameterisation.
#include <gtest/gtest.h>

#include <algorithm>

#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"
#include "models/vision/fastvit/fastvit.h"
#include "models/vision/repvit/repvit.h"
#include "tests/converter/torch_case.h"

namespace ferry {
namespace {

constexpr TorchCase kReparameterizedCases[] = {
#include "tests/converter/reparameterized_fixture.inc"
};

// As in make_reparameterized_fixture.py.
std::vector<float> values(const std::string& key, const std::vector<int64_t>& shape) {
  int64_t seed = 0, count = 1;
  for (char c : key) seed += 11 * c;
  for (int64_t d : shape) count *= d;
  const float factor = key.find("qkv") != key.npos ? 16 : 1, offset = key.ends_with("running_var") ? 1 : 0;
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(offset + factor * static_cast<float>((i * 37 + seed) % 61 - 30) / 64);
  return out;
}

class Reparameterized : public ::testing::TestWithParam<TorchCase> {};

TEST_P(Reparameterized, ComputesWhatTimmDoes) {
  const TorchCase& c = GetParam();
  const bool repvit = std::string(c.name).starts_with("repvit");
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const TorchCase::Parameter& p : c.parameters) file->add(p.key, p.shape, values(p.key, p.shape));
  constexpr int kSize = 64;
  const ImageVariant variant{.height = kSize, .width = kSize};
  const ImageOptions options{.variant = variant, .height = kSize, .width = kSize};
  Graph graph;
  Ledger ledger(file, (repvit ? repvit::namings() : fastvit::namings()).front());
  const Weights w(graph, ledger);
  if (repvit)
    repvit::build(graph, w, options, {.architecture = "tiny", .width = 8, .depth = {1, 1, 1, 1}, .legacy = true});
  else
    fastvit::build(graph, w, options,
                   {.architecture = "tiny", .width = 4, .layers = {1, 1, 1, 1}, .mlp_ratio = 2, .attention = true});
  ledger.finish();

  const std::vector<float> planes = values("input", {3, kSize, kSize});
  std::vector<double> pixels;
  for (size_t place = 0; place < kSize * kSize; ++place)
    for (size_t channel = 0; channel < 3; ++channel) pixels.push_back(planes[channel * kSize * kSize + place]);
  const auto expect_right = [&] {
    const auto computed = reference::interpret(graph, {reference::Array{{1, kSize, kSize, 3}, pixels}});
    expect_near(computed.at(graph.table.outputs.front()->tensor).values, c.output);
  };
  {
    SCOPED_TRACE("as built");
    expect_right();
  }
  run_passes(graph, {});
  SCOPED_TRACE("as packed");
  expect_right();

  const auto count = [&](auto matches) {
    return std::count_if(graph.table.operators.begin(), graph.table.operators.end(),
                         [&](const auto& op) { return matches(*op); });
  };
  // RepViT: 2 in the stem; a token mixer is 1, its MLP 2, squeeze-and-excitation 2; a downsampling 3 + 2 + 2.
  // FastViT: 3 in the stem; a block 1 + 3, that of the attention 3; a downsampling 2; a position encoding 1; 3 at the
  // end.
  EXPECT_EQ(count([](const fbs::OperatorT& op) { return op.params.AsConv2d() != nullptr; }),
            repvit ? 2 + 4 * 5 + 3 * 7 : 3 + 3 * 4 + 3 + 3 * 2 + 1 + 3);
  // No BatchNorm is left, and the only sums are the shortcuts around an MLP or attention.
  EXPECT_EQ(count([](const fbs::OperatorT& op) {
              const auto* binary = op.params.AsBinary();
              return binary && binary->kind == fbs::BinaryKind::Add;
            }),
            repvit ? 4 + 3 * 2 : 5);
}

INSTANTIATE_TEST_SUITE_P(Families, Reparameterized, ::testing::ValuesIn(kReparameterizedCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferry
