// Linear operators and pointwise convolutions with quantized weights.
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "converter/reference/interpreter.h"
#include "sdk/graph/session.h"
#include "sdk/model/model.h"
#include "tests/ops/harness.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

// Integer sums are exact, so float32 rounds only scales and bias.
constexpr double kLinearQuantizedBound = 2e-6;

TEST(LinearQuantized, MatchesTheOracleWithBytes) {
  for (const int rows : {1, 2, 7, 30, 197})
    for (const int inputs : {1, 5, 64, 257})
      for (const int outputs : {1, 10, 33}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
        expect_like_oracle(fbs::LinearT(),
                           {input({rows, inputs}), bytes_constant({outputs, inputs}), constant({outputs})},
                           kLinearQuantizedBound);
      }
}

TEST(LinearQuantized, MatchesTheOracleWithNibbles) {
  for (const int rows : {1, 2, 7, 30, 197})
    for (const int inputs : {32, 96, 256})
      for (const int outputs : {1, 10, 33}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
        expect_like_oracle(fbs::LinearT(),
                           {input({rows, inputs}), nibbles_constant({outputs, inputs}), constant({outputs})},
                           kLinearQuantizedBound);
      }
}

TEST(LinearQuantized, MatchesTheOracleWithFloat16Scales) {
  for (const fbs::DType dtype : {fbs::DType::Int4, fbs::DType::Int8})
    for (const int rows : {1, 2, 7, 30})
      for (const int inputs : {32, 96, 1024})
        for (const int outputs : {1, 16, 37}) {
          SCOPED_TRACE(::testing::Message()
                       << rows << " rows, " << inputs << " to " << outputs << ", " << EnumNameDType(dtype));
          expect_like_oracle(fbs::LinearT(),
                             {input({rows, inputs}), blocks_constant(dtype, {outputs, inputs}), constant({outputs})},
                             kLinearQuantizedBound);
        }
}

// Codes and inputs at their ends: no sum saturates.
TEST(LinearQuantized, SumsExtremesExactly) {
  for (const fbs::DType dtype : {fbs::DType::Int4, fbs::DType::Int8})
    for (const double weight : {-1.0, 1.0})
      for (const double x : {-5.0, 5.0}) {
        Operand weights = blocks_constant(dtype, {16, 64});
        weights.values.assign(16 * 64, weight);
        expect_like_oracle(fbs::LinearT(), {given({1, 64}, std::vector<double>(64, x)), weights},
                           kLinearQuantizedBound);
      }
}

TEST(LinearQuantized, TakesRowsOfOneSign) {
  for (const bool bytes : {true, false}) {
    const Operand weight = bytes ? bytes_constant({16, 64}) : nibbles_constant({16, 64});
    expect_like_oracle(fbs::LinearT(), {input({9, 64}, 3, 5), weight}, kLinearQuantizedBound);
    expect_like_oracle(fbs::LinearT(), {input({9, 64}, -5, -3), weight}, kLinearQuantizedBound);
    expect_like_oracle(fbs::LinearT(), {given({2, 64}, std::vector<double>(128, 0.0)), weight, constant({16})},
                       kLinearQuantizedBound);
    expect_like_oracle(fbs::LinearT(), {given({2, 64}, std::vector<double>(128, 7.0)), weight, constant({16})},
                       kLinearQuantizedBound);
  }
}

TEST(LinearQuantized, TakesAnyRankAndClamps) {
  fbs::LinearT p;
  p.output_min = -0.1f;
  p.output_max = 0.5f;
  expect_like_oracle(p, {input({2, 3, 5, 64}), bytes_constant({7, 64}), constant({7})}, kLinearQuantizedBound);
  expect_like_oracle(p, {input({2, 3, 5, 64}), nibbles_constant({7, 64})}, kLinearQuantizedBound);
  expect_like_oracle(p, {input({2, 3, 5, 64}), blocks_constant(fbs::DType::Int8, {7, 64})}, kLinearQuantizedBound);
}

TEST(Conv2dQuantized, OfSinglePixelsIsALinear) {
  expect_like_oracle(fbs::Conv2dT(), {input({2, 5, 6, 64}), bytes_constant({24, 1, 1, 64}), constant({24})},
                     kLinearQuantizedBound);
  expect_like_oracle(fbs::Conv2dT(), {input({2, 5, 6, 64}), nibbles_constant({24, 1, 1, 64}), constant({24})},
                     kLinearQuantizedBound);
}

// Weight formats without a kernel are dequantized.
TEST(LinearQuantized, DequantizesFormatsWithoutAKernel) {
  fbs::Conv2dT same;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  expect_like_oracle(same, {input({1, 7, 8, 16}), bytes_constant({24, 3, 3, 16}), constant({24})},
                     kLinearQuantizedBound, {}, true);
  fbs::Conv2dT strided;
  strided.stride_h = strided.stride_w = 2;
  expect_like_oracle(strided, {input({1, 7, 8, 32}), nibbles_constant({24, 1, 1, 32})}, kLinearQuantizedBound, {},
                     true);
}

// The distance of the CPU's result from a product without quantized rows: [3,192] with Int4 [5,192] in blocks of
// `block`; the second block of the third row has the scale `odd`. NaN results are ignored.
double distance_to_exact(int block, float odd) {
  constexpr int kInputs = 192, kOutputs = 5;
  Graph graph;
  const Tensor x = graph.add_input("x", {3, kInputs}, fbs::Layout::Same);
  const Tensor weight = graph.add_constant("weight", {kOutputs, kInputs}, counting(kOutputs * kInputs));
  std::vector<uint8_t> nibbles(kOutputs * kInputs / 2);
  for (size_t i = 0; i < nibbles.size(); ++i) nibbles[i] = static_cast<uint8_t>(i * 73 + i / 7);
  std::vector<uint16_t> scales(static_cast<size_t>(kOutputs * kInputs / block), 0x3e80);  // 0.25
  uint32_t bits;
  std::memcpy(&bits, &odd, sizeof bits);
  scales[static_cast<size_t>(2 * kInputs / block + 1)] = static_cast<uint16_t>(bits >> 16);
  graph.store_integers(graph.at(weight.id).buffer, {.dtype = fbs::DType::Int4, .block = block}, hold(nibbles),
                       hold(scales));
  const Tensor y = graph.add_op("y", fbs::LinearT(), {x, weight});
  graph.add_output("y", y, fbs::Layout::Same);

  AlignedBytes blob(pack(graph));
  std::shared_ptr<Model> model;
  Status status = Model::open_memory(blob.data(), blob.size(), &model);
  EXPECT_TRUE(status.ok()) << status.message();
  std::unique_ptr<Session> session;
  status = Session::create(model, SessionOptions(), &session);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return std::numeric_limits<double>::quiet_NaN();
  reference::Array input{{3, kInputs}, {}};
  for (uint32_t i = 0; i < 3 * kInputs; ++i) {
    static_cast<float*>(session->data(x.id))[i] = noise(1, i);
    input.values.push_back(static_cast<double>(noise(1, i)));
  }
  EXPECT_TRUE(session->run().ok());
  const reference::Array exact = reference::interpret(graph, {input}).at(y.id);
  std::vector<double> got, expected;
  for (size_t i = 0; i < exact.values.size(); ++i) {
    if (!std::isfinite(exact.values[i])) continue;
    got.push_back(static_cast<double>(static_cast<const float*>(session->data(y.id))[i]));
    expected.push_back(exact.values[i]);
  }
  return normalised_error(got, expected);
}

// XNNPACK refuses scales and blocks that its kernels do not support; the weights are then dequantized.
TEST(LinearQuantized, DequantizesBlocksThatXnnpackRefuses) {
  constexpr float kGood = 0.25f, kRounded = 1e-4f;
  for (const int block : {32, 64, 96}) EXPECT_GT(distance_to_exact(block, kGood), kRounded) << block;
  for (const int block : {2, 16, 24, 48}) EXPECT_LE(distance_to_exact(block, kGood), kLinearQuantizedBound) << block;
  using Limits = std::numeric_limits<float>;
  for (const float odd : {0.0f, -0.0f, -0.25f, Limits::min() / 2, Limits::infinity(), Limits::quiet_NaN()})
    EXPECT_LE(distance_to_exact(32, odd), kLinearQuantizedBound) << odd;
}

// A scale counts for its whole block, and for no other. Only rows are rounded: inputs of -1 to 1 to 255 steps.
TEST(LinearQuantized, BlocksOfAnySizeHaveTheirScale) {
  constexpr float kOdd = 16, kStep = 2.0f / 255;
  for (const int block : {32, 64, 96}) EXPECT_LE(distance_to_exact(block, kOdd), kStep) << block;
}

TEST(LinearQuantizedOracle, RoundsRowsByHand) {
  // Steps of 1/51 from -1 to 4: 0 is the integer -77; 1.5 is at 76.5 steps, a tie.
  reference::Array weight{{2, 3}, {1, 0, 0, 0, 1, 1}};
  weight.quantized = weight.rounds_rows = true;
  const reference::Array y = oracle(fbs::LinearT(), {{{1, 3}, {-1, 4, 0.5}}, weight});
  EXPECT_NEAR(y.values[0], -1, 1e-6);
  EXPECT_NEAR(y.values[1], 4 + 26 / 51.0, 1e-6);
}

}  // namespace
}  // namespace ferry::testing
