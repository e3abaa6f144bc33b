// Experts: a mixture in which each token passes through a few experts.
#include <cmath>
#include <cstring>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "sdk/graph/session.h"
#include "tests/ops/harness.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

using fbs::DType;
using Activation = fbs::ExpertsActivation;

constexpr double kExpertsBound = 3e-6;

struct ExpertsSizes {
  int32_t tokens, chosen, experts, channels, hidden;
};

fbs::ExpertsT experts(Activation activation) {
  fbs::ExpertsT p;
  p.activation = activation;
  return p;
}

std::vector<Operand> operands(const ExpertsSizes& s, bool biases = false) {
  std::vector<Operand> out = {input({s.tokens, s.channels}), ints({s.tokens, s.chosen}, 0, s.experts),
                              input({s.tokens, s.chosen}), constant({s.experts, 2 * s.hidden, s.channels}),
                              constant({s.experts, s.channels, s.hidden})};
  if (biases) {
    out.push_back(constant({s.experts, 2 * s.hidden}));
    out.push_back(constant({s.experts, s.channels}));
  }
  return out;
}

void expect_experts(const fbs::ExpertsT& params, const std::vector<Operand>& all) {
  const Shape& down = all[4].shape;
  const bool within_quads = down[1] % 4 != 0 || down[2] % 4 != 0;  // GPUs have no kernel for rows that end within a
                                                                   // quad
  expect_like_oracle(params, all, kExpertsBound, {}, within_quads);
}

TEST(Experts, MatchesTheOracle) {
  for (const Activation activation : fbs::EnumValuesExpertsActivation()) {
    SCOPED_TRACE(fbs::EnumNameExpertsActivation(activation));
    for (const bool biases : {false, true}) {
      expect_experts(experts(activation), operands({1, 1, 1, 1, 1}, biases));
      expect_experts(experts(activation), operands({1, 3, 8, 64, 48}, biases));
      expect_experts(experts(activation), operands({7, 2, 4, 33, 70}, biases));
      expect_experts(experts(activation), operands({40, 4, 6, 129, 65}, biases));
      expect_experts(experts(activation), operands({5, 6, 7, 36, 132}, biases));
    }
  }
}

// A panel is packed once and used for each block of rows, in KC blocks of the weights' depth.
TEST(Experts, TakesManyTokensAndDeepWeights) {
  expect_experts(experts(Activation::Silu), operands({450, 1, 2, 20, 30}, true));
  expect_experts(experts(Activation::Silu), operands({60, 2, 3, 300, 520}));
  expect_experts(experts(Activation::Silu), operands({2, 2, 3, 600, 300}));
}

TEST(Experts, TakesAnyRankAndAnExpertTwice) {
  const auto stacks = [](int32_t channels) {
    return std::vector<Operand>{constant({3, 24, channels}), constant({3, channels, 12})};
  };
  std::vector<Operand> cube = {input({2, 3, 8}), ints({2, 3, 4}, 0, 3), input({2, 3, 4})};
  std::vector<Operand> vector = {input({8}), given({2}, {1, 1}, DType::Int32), input({2})};
  for (std::vector<Operand>* some : {&cube, &vector}) {
    for (const Operand& stack : stacks(8)) some->push_back(stack);
    expect_experts(experts(Activation::Silu), *some);
  }
}

TEST(Experts, LimitsGatesAndUps) {
  for (const float limit : {0.1f, 0.5f}) {
    fbs::ExpertsT p = experts(Activation::ClampedSwish);
    p.limit = limit;
    p.alpha = 3;
    expect_experts(p, operands({12, 3, 5, 40, 24}, true));
  }
}

TEST(Experts, DequantizesWeightsWithoutAKernel) {
  for (const int32_t tokens : {1, 5, 90}) {
    for (const auto stored : {float16_constant, bytes_constant, nibbles_constant}) {
      std::vector<Operand> all = operands({tokens, 2, 4, 64, 96}, true);
      all[3] = stored({4, 192, 64}, -1, 1);
      all[4] = stored({4, 64, 96}, -1, 1);
      expect_experts(experts(Activation::Silu), all);
    }
    for (const DType dtype : {DType::Int4, DType::Int8}) {
      std::vector<Operand> all = operands({tokens, 2, 4, 64, 96}, true);
      all[3] = blocks_constant(dtype, {4, 192, 64});
      all[4] = blocks_constant(dtype, {4, 64, 96});
      expect_experts(experts(Activation::Silu), all);
    }
    std::vector<Operand> uneven = operands({tokens, 2, 4, 40, 44});
    uneven[3] = bytes_constant({4, 88, 40}, -1, 1);  // one scale per row
    uneven[4] = bytes_constant({4, 40, 44}, -1, 1);
    expect_experts(experts(Activation::Silu), uneven);
  }
}

TEST(ExpertsOracle, CountsByHand) {
  const double e = std::exp(1.0), silu = e / (1 + e);  // of 1
  const reference::Array x{{1, 1}, {1}}, chosen{{1, 2}, {1, 0}, DType::Int32}, shares{{1, 2}, {10, 1}};
  const reference::Array gate_up{{2, 2, 1}, {1, 2, 1, 3}}, down{{2, 1, 1}, {4, 5}};
  const double first = silu * 2 * 4, second = silu * 3 * 5;
  EXPECT_NEAR(oracle(experts(Activation::Silu), {x, chosen, shares, gate_up, down}).values[0], 10 * second + first,
              1e-12);
  fbs::ExpertsT clamped = experts(Activation::ClampedSwish);
  clamped.alpha = 1;
  clamped.limit = 2;
  EXPECT_NEAR(oracle(clamped, {x, chosen, shares, gate_up, down}).values[0], silu * 3 * (10 * 5 + 4), 1e-12);
  const reference::Array biases{{2, 2}, {0, 1, 0, 0}}, after{{2, 1}, {0.5, 0}};
  EXPECT_NEAR(oracle(experts(Activation::Silu), {x, chosen, shares, gate_up, down, biases, after}).values[0],
              10 * second + silu * 3 * 4 + 0.5, 1e-12);
}

// A graph of one mixture: the run's message if these of three experts are chosen.
std::string error_of_run(const std::vector<int32_t>& chosen) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 4}, fbs::Layout::Same);
  const Tensor places = graph.add_input("chosen", {1, 2}, fbs::Layout::Same, DType::Int32);
  const Tensor shares = graph.add_input("shares", {1, 2}, fbs::Layout::Same);
  const Tensor gate_up = graph.add_constant("gate_up", Shape{3, 12, 4}, counting(144));
  const Tensor down = graph.add_constant("down", Shape{3, 4, 6}, counting(72));
  graph.add_output("y", graph.add_op("op", fbs::ExpertsT(), {x, places, shares, gate_up, down}), fbs::Layout::Same);
  const std::vector<std::byte> packed = pack(graph);
  AlignedBytes blob(packed);
  std::shared_ptr<Model> model;
  std::unique_ptr<Session> session;
  Status status = Model::open_memory(blob.data(), blob.size(), &model);
  if (status.ok()) status = Session::create(model, {}, &session);
  if (!status.ok()) return std::string(status.message());
  std::memcpy(session->data(places.id), chosen.data(), chosen.size() * sizeof(int32_t));
  status = session->run();
  EXPECT_TRUE(status.ok() || status.code() == FERRY_INVALID_ARGUMENT);
  return std::string(status.message());
}

TEST(Experts, RefusesAnExpertIndexOutOfRange) {
  EXPECT_EQ(error_of_run({0, 2}), "");
  EXPECT_EQ(error_of_run({0, 3}), "experts: expert 3 was chosen, expected 0 to 2");
  EXPECT_EQ(error_of_run({-1, 0}), "experts: expert -1 was chosen, expected 0 to 2");
  EXPECT_EQ(error_of_run({0, INT32_MIN}), "experts: expert -2147483648 was chosen, expected 0 to 2");
}

TEST(Experts, WeightsAreConstants) {
  Graph graph;
  std::vector<Tensor> inputs;
  const Shape shapes[] = {{1, 4}, {1, 2}, {1, 2}, {3, 12, 4}, {3, 4, 6}};
  for (size_t i = 0; i < std::size(shapes); ++i)
    inputs.push_back(
        graph.add_input("x" + std::to_string(i), shapes[i], fbs::Layout::Same, i == 1 ? DType::Int32 : DType::Float32));
  inputs[3] = graph.add_constant("gate_up", Shape{3, 12, 4}, counting(144));
  graph.add_output("y", graph.add_op("op", fbs::ExpertsT(), inputs), fbs::Layout::Same);
  std::string said;
  try {
    pack(graph);
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_NE(said.find("operator 0 'op': input 4 of a experts must be a constant"), std::string::npos) << said;
}

// The stacks that `ferry convert --weights` makes.
TEST(Experts, AreQuantisedInBlocks) {
  for (const int width : {96, 40}) {
    for (const WeightBits bits : {WeightBits::Eight, WeightBits::Four}) {
      Graph graph;
      const Tensor x = graph.add_input("x", {1, width}, fbs::Layout::Same);
      const Tensor places = graph.add_input("chosen", {1, 2}, fbs::Layout::Same, DType::Int32);
      const Tensor shares = graph.add_input("shares", {1, 2}, fbs::Layout::Same);
      const Tensor gate_up = graph.add_constant("gate_up", Shape{3, 128, width}, counting(384u * unsigned(width)));
      const Tensor down = graph.add_constant("down", Shape{3, width, 64}, counting(192u * unsigned(width)));
      const Tensor y = graph.add_op("op", fbs::ExpertsT(), {x, places, shares, gate_up, down});
      const Tensor head = graph.add_constant("head", Shape{8, width}, counting(8u * unsigned(width)));
      graph.add_output("y", graph.add_op("head", fbs::LinearT(), {y, head}), fbs::Layout::Same);
      quantize_weights(graph, bits);
      const Type type = graph.type(gate_up.id);
      EXPECT_EQ(type.dtype, bits == WeightBits::Four && width == 96 ? DType::Int4 : DType::Int8);
      EXPECT_EQ(type.block, width == 96 ? 32 : width);
      EXPECT_EQ(graph.type(down.id).block, 32);
      const std::vector<double> numbers = graph.values(gate_up.id);
      EXPECT_NEAR(numbers.back(), 384.0 * width - 1, 384.0 * width / (type.dtype == DType::Int4 ? 8 : 127));
    }
  }
}

}  // namespace
}  // namespace ferry::testing
