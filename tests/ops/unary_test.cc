#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "converter/pack/pack.h"
#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/elementwise/unary.h"
#include "tests/ops/gpu_runs.h"
#include "tests/ops/harness.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

struct UnaryCase {
  fbs::UnaryKind kind;
  float alpha, beta;
  double low, high;  // inputs
  double bound;
  std::optional<double> gpu_bound = {};
  bool left_to_cpu = false;
};

constexpr float kUnaryInfinity = std::numeric_limits<float>::infinity();

// Vulkan's precision of exp(x): 3 + 2 |x| ULP, here for x up to 5.
constexpr double kVulkanExp = 8e-7;

// Vulkan's precision of log(x): 2^-21 between 0.5 and 2, 3 ULP elsewhere; the maximum here is 4.6.
constexpr double kVulkanLog = 4e-7;
// 1.5e-7 of the approximation, 1.8e-7 of Vulkan's exp near 0, and the rounding of five coefficients.
constexpr double kErfOfShaders = 6.3e-7;
// 5e-9 of the polynomial, and four roundings of an angle of at most 1.6.
constexpr double kSineOfShaders = 2.5e-7;

// XNNPACK's approximations are accurate to a few ULP; the others are exact except for rounding.
const UnaryCase kUnaryCases[] = {
    {fbs::UnaryKind::Clamp, 0, 6, -10, 10, 0},
    {fbs::UnaryKind::Clamp, 0, kUnaryInfinity, -10, 10, 0},
    {fbs::UnaryKind::Clamp, -1.5f, -1.5f, -10, 10, 0},
    {fbs::UnaryKind::LeakyRelu, 0.2f, 0, -10, 10, 1e-7},
    {fbs::UnaryKind::LeakyRelu, 0, 0, -10, 10, 1e-7},
    {fbs::UnaryKind::LeakyRelu, -1.5f, 0, -10, 10, 1e-7},
    {fbs::UnaryKind::Sigmoid, 0, 0, -12, 12, 3e-7},
    {fbs::UnaryKind::Tanh, 0, 0, -6, 6, 3e-7},
    {fbs::UnaryKind::HardSwish, 0, 0, -6, 6, 3e-7},
    {fbs::UnaryKind::Silu, 0, 0, -12, 12, 3e-7},
    {fbs::UnaryKind::Silu, 0, 0, -1, 1, 3e-7},
    {fbs::UnaryKind::Silu, 0, 0, -80, 0, 3e-7},
    {fbs::UnaryKind::HardSigmoid, 0, 0, -6, 6, 2e-7},
    {fbs::UnaryKind::GeluTanh, 0, 0, -12, 12, 3e-7},
    {fbs::UnaryKind::Gelu, 0, 0, -6, 6, 3e-7},
    {fbs::UnaryKind::Abs, 0, 0, -10, 10, 0},
    {fbs::UnaryKind::Neg, 0, 0, -10, 10, 0},
    {fbs::UnaryKind::Exp, 0, 0, -20, 5, 3e-7, kVulkanExp},
    {fbs::UnaryKind::Sqrt, 0, 0, 0, 100, 3e-7},
    {fbs::UnaryKind::Square, 0, 0, -10, 10, 1e-7},
    {fbs::UnaryKind::Log, 0, 0, 0.01, 10, 1e-7, kVulkanLog},
    {fbs::UnaryKind::Erf, 0, 0, -4, 4, 1e-7, kErfOfShaders},
    {fbs::UnaryKind::Floor, 0, 0, -10, 10, 0, {}, true},
    {fbs::UnaryKind::Ceil, 0, 0, -10, 10, 0, {}, true},
    {fbs::UnaryKind::Round, 0, 0, -10, 10, 0, {}, true},
    {fbs::UnaryKind::Sign, 0, 0, -10, 10, 0, {}, true},
    {fbs::UnaryKind::Sin, 0, 0, -30, 30, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Cos, 0, 0, -30, 30, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Sin, 0, 0, -1e-3, 1e-3, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Cos, 0, 0, -1, 1, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Sin, 0, 0, -6e4, 6e4, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Cos, 0, 0, -6e4, 6e4, 1e-7, kSineOfShaders},
    {fbs::UnaryKind::Tan, 0, 0, -1.5, 1.5, 1e-7, {}, true},
    {fbs::UnaryKind::Not, 0, 0, -1, 1, 0, {}, true},
    {fbs::UnaryKind::IsNaN, 0, 0, -1, 1, 0, {}, true},
    {fbs::UnaryKind::IsInf, 1, 1, -1, 1, 0, {}, true},
};

TEST(Unary, EveryKindMatchesTheOracle) {
  for (const UnaryCase& c : kUnaryCases) {
    SCOPED_TRACE(fbs::EnumNameUnaryKind(c.kind));
    fbs::UnaryT p;
    p.kind = c.kind;
    p.alpha = c.alpha;
    p.beta = c.beta;
    expect_like_oracle(p, {input({1, 7, 5, 13}, c.low, c.high)}, c.bound, c.gpu_bound, c.left_to_cpu);
    expect_like_oracle(p, {input({3, 8193}, c.low, c.high)}, c.bound, c.gpu_bound,
                       c.left_to_cpu);  // by several threads
    expect_like_oracle(p, {input({1}, c.low, c.high)}, c.bound == 0 ? 0 : 1e-5, {}, c.left_to_cpu);
  }
}

TEST(Unary, EveryKindOfTheSchemaIsTested) {
  for (const fbs::UnaryKind kind : fbs::EnumValuesUnaryKind()) {
    bool found = false;
    for (const UnaryCase& c : kUnaryCases) found = found || c.kind == kind;
    EXPECT_TRUE(found) << fbs::EnumNameUnaryKind(kind);
  }
}

TEST(Unary, TakesIntegers) {
  for (const fbs::UnaryKind kind :
       {fbs::UnaryKind::Abs, fbs::UnaryKind::Neg, fbs::UnaryKind::Sign, fbs::UnaryKind::Not}) {
    SCOPED_TRACE(fbs::EnumNameUnaryKind(kind));
    fbs::UnaryT p;
    p.kind = kind;
    expect_like_oracle(p, {ints({3, 7, 5, 13}, -3, 4)}, 0);
    expect_like_oracle(p, {ints({3, 8193}, -0x1p31, 0x1p31)}, 0);
    expect_like_oracle(p, {given({1}, {-0x1p31}, fbs::DType::Int32)}, 0);
  }
}

TEST(Unary, PropagatesNaN) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto at = [&](fbs::UnaryKind kind, float alpha, float beta) {
    fbs::UnaryT p;
    p.kind = kind;
    p.alpha = alpha;
    p.beta = beta;
    return expect_like_oracle(p, {given({5}, {kNaN, kUnaryInfinity, -kUnaryInfinity, 0, -2.5})}, 0);
  };
  EXPECT_EQ(at(fbs::UnaryKind::IsNaN, 0, 0), (std::vector<float>{1, 0, 0, 0, 0}));
  EXPECT_EQ(at(fbs::UnaryKind::IsInf, 1, 1), (std::vector<float>{0, 1, 1, 0, 0}));
  EXPECT_EQ(at(fbs::UnaryKind::IsInf, 1, 0), (std::vector<float>{0, 1, 0, 0, 0}));
  EXPECT_EQ(at(fbs::UnaryKind::IsInf, 0, 1), (std::vector<float>{0, 0, 1, 0, 0}));
  EXPECT_EQ(at(fbs::UnaryKind::Not, 0, 0), (std::vector<float>{0, 0, 0, 1, 0}));
}

// Every power of 2, the float32 value nearest to a multiple of pi/2 (16367173 * 2^72), and the neighbours of such
// multiples.
TEST(Unary, SinesOfAnyNumber) {
  constexpr double kHalfPi = 1.5707963267948966;
  std::vector<float> values = {0, 16367173 * 0x1p72f, -16367173 * 0x1p72f};
  for (int exponent = -100; exponent < 128; ++exponent)
    for (const float factor : {1.0f, -1.37f, 1.9999999f}) values.push_back(std::ldexp(factor, exponent));
  for (int i = 1; i < 100'000; i += 1 + i / 7) values.push_back(static_cast<float>(i * kHalfPi));
  const Shape shape{static_cast<int32_t>(values.size())};
  for (const fbs::UnaryKind kind : {fbs::UnaryKind::Sin, fbs::UnaryKind::Cos}) {
    SCOPED_TRACE(fbs::EnumNameUnaryKind(kind));
    fbs::UnaryT p;
    p.kind = kind;
    Graph graph;
    graph.add_output("y", graph.add_op("op", p, {graph.add_input("x", shape, fbs::Layout::Same)}), fbs::Layout::Same);
    AlignedBytes blob(pack(graph));
    std::shared_ptr<Model> model;
    ASSERT_TRUE(Model::open_memory(blob.data(), blob.size(), &model).ok());
    expect_on_gpus(model, {values}, oracle(p, {{shape, {values.begin(), values.end()}}}), FERRY_PRECISION_FLOAT32,
                   kSineOfShaders, false);
  }
}

TEST(Unary, RoundsHalvesToEven) {
  fbs::UnaryT p;
  p.kind = fbs::UnaryKind::Round;
  EXPECT_EQ(expect_like_oracle(p, {given({5}, {0.5, 1.5, 2.5, -0.5, -1.5})}, 0, {}, true),
            (std::vector<float>{0, 2, 2, 0, -2}));
}

TEST(Unary, SiluVanishesFarBelowZero) {
  fbs::UnaryT p;
  p.kind = fbs::UnaryKind::Silu;
  for (const float value : expect_like_oracle(p, {input({100}, -1e30, -90)}, 1e-5)) EXPECT_GT(value, -1e-34f);
}

// All float16 values, by whichever code this CPU uses: within two float16 steps, or the error of a sigmoid at -9.
TEST(Unary, TakesEveryFloat16) {
  if (!cpu::cpu_features().float16) GTEST_SKIP() << "this CPU has no float16 arithmetic";
  std::vector<uint16_t> bits(0x10000);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  std::vector<float> values(bits.size()), results(bits.size());
  cpu::widen(cpu::float16s(bits.data()), values.data(), values.size());
  for (const fbs::UnaryKind kind :
       {fbs::UnaryKind::Silu, fbs::UnaryKind::Sigmoid, fbs::UnaryKind::HardSigmoid, fbs::UnaryKind::HardSwish}) {
    SCOPED_TRACE(fbs::EnumNameUnaryKind(kind));
    flatbuffers::FlatBufferBuilder builder;
    fbs::UnaryT p;
    p.kind = kind;
    builder.Finish(fbs::Unary::Pack(builder, &p));
    const auto& params = *flatbuffers::GetRoot<fbs::Unary>(builder.GetBufferPointer());
    std::vector<uint16_t> y(bits.size());
    const cpu::Elementwise function = cpu::elementwise(cpu::cpu_features(), params);
    if (!function) continue;  // XNNPACK's
    function(cpu::float16s(bits.data()), cpu::float16s(y.data()), y.size());
    cpu::widen(cpu::float16s(y.data()), results.data(), y.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(values[i]), sigmoid = 1 / (1 + std::exp(-x));
      const double hard = std::clamp(x + 3, 0.0, 6.0) / 6;
      const double expected = kind == fbs::UnaryKind::Silu          ? std::max(x, -1e5) * sigmoid
                              : kind == fbs::UnaryKind::Sigmoid     ? sigmoid
                              : kind == fbs::UnaryKind::HardSigmoid ? hard
                                                                    : x * hard;
      if ((bits[i] & 0x7fff) > 0x7c00) {
        EXPECT_TRUE(std::isnan(results[i])) << "of no number";  // as arithmetic gives it
      }
      if (!std::isfinite(x)) continue;
      ASSERT_NEAR(static_cast<double>(results[i]), expected, 2e-3 * std::fabs(expected) + 5e-4) << x;
    }
  }
}

// Values from Abramowitz and Stegun, tables 4.4, 7.1 (erf(1/sqrt 2) = 0.6826894921370859), and a pocket calculator.
TEST(UnaryOracle, CountsByHand) {
  const auto at = [](fbs::UnaryKind kind, double x, float alpha = 0, float beta = 0) {
    fbs::UnaryT p;
    p.kind = kind;
    p.alpha = alpha;
    p.beta = beta;
    return oracle(p, {{{1}, {x}}}).values[0];
  };
  EXPECT_NEAR(at(fbs::UnaryKind::Sigmoid, 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(at(fbs::UnaryKind::Tanh, 0.5), 0.46211715726000973, 1e-15);
  EXPECT_NEAR(at(fbs::UnaryKind::Silu, -2), -0.2384058440442351, 1e-15);
  EXPECT_NEAR(at(fbs::UnaryKind::Gelu, 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(at(fbs::UnaryKind::Gelu, -1), -0.15865525393145707, 1e-15);
  EXPECT_NEAR(at(fbs::UnaryKind::Exp, 1), 2.718281828459045, 1e-15);
  EXPECT_EQ(at(fbs::UnaryKind::HardSwish, -3), 0);
  EXPECT_EQ(at(fbs::UnaryKind::HardSwish, 1.5), 1.125);
  EXPECT_EQ(at(fbs::UnaryKind::HardSwish, 4), 4);
  EXPECT_EQ(at(fbs::UnaryKind::LeakyRelu, -2, 0.25f), -0.5);
  EXPECT_EQ(at(fbs::UnaryKind::LeakyRelu, 2, 0.25f), 2);
  EXPECT_EQ(at(fbs::UnaryKind::Clamp, 7, -1, 6), 6);
  EXPECT_EQ(at(fbs::UnaryKind::Clamp, -7, -1, 6), -1);
  EXPECT_EQ(at(fbs::UnaryKind::Abs, -2), 2);
  EXPECT_EQ(at(fbs::UnaryKind::Neg, -2), 2);
  EXPECT_EQ(at(fbs::UnaryKind::Sqrt, 2.25), 1.5);
  EXPECT_EQ(at(fbs::UnaryKind::Square, -1.5), 2.25);
}

}  // namespace
}  // namespace ferry::testing
