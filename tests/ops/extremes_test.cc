// Functions over all magnitudes, as docs/c-api.md ("Infinities, NaN and denormals") promises: zeros of both signs,
// denormals, powers of 2, infinities and NaN; by each of the CPU's kernels, in float16, and on the GPUs under test.
#include <algorithm>
#include <cmath>

#include "tests/ops/extremes.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

using Kind = fbs::UnaryKind;

struct ExtremeUnary {
  Kind kind;
  float alpha = 0, beta = 0;
  Sides sides = {{4e-7, 0}};
};

constexpr Tolerance kExponential = {3e-5, kVanished};  // Vulkan's: 3 + 2 |x| ULP

const ExtremeUnary kUnaries[] = {
    {Kind::Clamp, 0, 6, {{0, 0}, Tolerance{0, 0}}},
    {Kind::Clamp, 0, kInf, {{0, 0}, Tolerance{0, 0}}},
    {Kind::Clamp, -kInf, 1e30f},
    {Kind::LeakyRelu, 0.01f, 0, {{1e-7, 0}, Tolerance{1e-7, 0}}},
    {Kind::Sigmoid, 0, 0, {{4e-7, kVanished}, kExponential}},
    {Kind::Tanh, 0, 0, {{4e-7, 0}, Tolerance{1e-6, 3e-7}}},
    {Kind::HardSwish, 0, 0, {{4e-7, 4e-7}, Tolerance{4e-7, 4e-7}, Undefined::IsNaNOrZero}},
    {Kind::Silu, 0, 0, {{6e-7, kVanished}, kExponential, Undefined::IsNaNOrZero}},
    {Kind::Gelu, 0, 0, {{4e-7, 6e-7}, Tolerance{4e-7, 6e-7}, Undefined::IsNaNOrZero}},
    {Kind::GeluTanh, 0, 0, {{6e-7, 3e-7}, Tolerance{4e-7, 6e-7}, Undefined::IsNaNOrZero}},
    {Kind::HardSigmoid, 0, 0, {{4e-7, 2e-7}, Tolerance{4e-7, 2e-7}}},
    {Kind::Abs, 0, 0, {{0, 0}, Tolerance{0, 0}}},
    {Kind::Neg, 0, 0, {{0, 0}, Tolerance{0, 0}}},
    {Kind::Exp, 0, 0, {{4e-7, 0}, kExponential}},
    {Kind::Sqrt, 0, 0, {{4e-7, 0}, Tolerance{1e-6, 0}}},
    {Kind::Square, 0, 0, {{1e-7, 0}, Tolerance{1e-7, 0}}},
    {Kind::Log, 0, 0, {{4e-7, 0}, Tolerance{4e-7, 4e-7}}},
    {Kind::Erf, 0, 0, {{4e-7, 0}, Tolerance{0, 7e-7}}},
    {Kind::Floor},
    {Kind::Ceil},
    {Kind::Round},
    {Kind::Sign},
    {Kind::Sin, 0, 0, {{4e-7, 0}, Tolerance{0, 3e-7}}},
    {Kind::Cos, 0, 0, {{4e-7, 0}, Tolerance{0, 3e-7}}},
    {Kind::Tan},
    {Kind::Not},
    {Kind::IsNaN},
    {Kind::IsInf, 1, 1},
};

TEST(Extremes, OfEveryUnaryFunction) {
  const std::vector<float> values = all_magnitudes();
  for (const ExtremeUnary& c : kUnaries) {
    SCOPED_TRACE(fbs::EnumNameUnaryKind(c.kind));
    fbs::UnaryT p;
    p.kind = c.kind;
    p.alpha = c.alpha;
    p.beta = c.beta;
    expect_right_at_extremes(p, {{{static_cast<int32_t>(values.size())}, values}}, c.sides);
  }
  for (const Kind kind : fbs::EnumValuesUnaryKind())
    EXPECT_TRUE(std::any_of(std::begin(kUnaries), std::end(kUnaries), [&](const ExtremeUnary& c) {
      return c.kind == kind;
    })) << fbs::EnumNameUnaryKind(kind);
}

// Every pair of extreme values, with an operand broadcast, too.
TEST(Extremes, OfEveryBinaryFunction) {
  const std::vector<float> values = few_magnitudes();
  const auto count = static_cast<int32_t>(values.size());
  std::vector<float> a, b;
  for (const float x : values)
    for (const float y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  for (const fbs::BinaryKind kind : fbs::EnumValuesBinaryKind()) {
    if (kind == fbs::BinaryKind::And || kind == fbs::BinaryKind::Or || kind == fbs::BinaryKind::Xor) continue;
    SCOPED_TRACE(fbs::EnumNameBinaryKind(kind));
    fbs::BinaryT p;
    p.kind = kind;
    const Sides on_cpu = {{4e-7, 0}};
    const ExtremeOperand all_a{{count * count}, a}, all_b{{count * count}, b};
    if (kind < fbs::BinaryKind::Pow)
      expect_right_at_extremes(p, {all_a, all_b}, {{4e-7, 0}, Tolerance{1e-6, 0}});
    else
      expect_right_at_extremes(p, {all_a, all_b}, on_cpu);
    for (const float one : {kNaN, -1e30f}) {
      expect_right_at_extremes(p, {{{count}, values}, {{1}, {one}}}, on_cpu);
      expect_right_at_extremes(p, {{{1}, {one}}, {{count}, values}}, on_cpu);
    }
    p.output_min = 0;
    p.output_max = 6;
    if (kind < fbs::BinaryKind::Equal) expect_right_at_extremes(p, {all_a, all_b}, on_cpu);
  }
}

// Rows for functions of a row. The first rows are finite.
std::vector<std::vector<float>> extreme_rows() {
  return {{0, 1, -1, 0.5f, 2},
          {0, 1, -1e30f, -kMaximum, 2},
          {-kMaximum, -kMaximum, -kMaximum, -kMaximum, -kMaximum},
          {kMaximum, -kMaximum, 1, 0, 1e30f},
          {-1e30f, -1e30f, -1e30f, -1e30f, -1e30f},
          {-80, -100, 0, -86, -200},
          {1e30f, 1e30f, 1e30f, -1e30f, 0},
          {1e-39f, -1e-45f, 0, -0.0f, 1e-30f},
          {-kInf, 1, -kInf, 2, -kInf},
          {-kInf, -kInf, -kInf, -kInf, -kInf},
          {kInf, 1, 2, 3, 4},
          {1, 2, kNaN, 3, 4},
          {kNaN, 1, 2, 3, 4},
          {0, 1, 2, 3, kNaN},
          {3, 2, 1, 0, -1}};
}

// The rows, each of them repeated up to `length` elements. `finite`: the finite ones only.
ExtremeOperand rows_of(size_t length, bool finite) {
  std::vector<float> values;
  int32_t count = 0;
  for (const std::vector<float>& row : extreme_rows()) {
    if (finite && !std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) continue;
    for (size_t i = 0; i < length; ++i) values.push_back(row[i % row.size()]);
    ++count;
  }
  return {{count, static_cast<int32_t>(length)}, values};
}

TEST(Extremes, OfSoftmax) {
  for (const size_t length : {5, 70}) {
    expect_right_at_extremes(fbs::SoftmaxT{}, {rows_of(length, false)}, {{1e-6, kVanished}});
    expect_right_at_extremes(fbs::SoftmaxT{}, {rows_of(length, true)}, {{1e-6, kVanished}, kExponential, {}, true});
  }
}

TEST(Extremes, OfReductions) {
  for (const fbs::ReduceKind kind : fbs::EnumValuesReduceKind())
    for (const size_t length : {5, 70})
      for (const int axis : {0, 1}) {
        SCOPED_TRACE(fbs::EnumNameReduceKind(kind));
        fbs::ReduceT p;
        p.kind = kind;
        p.axes = {axis};
        expect_right_at_extremes(p, {rows_of(length, false)}, {{1e-6, 0}, {}, {}, true});
        if (kind != fbs::ReduceKind::Mean && kind != fbs::ReduceKind::Sum) continue;
        // A GPU sums in float32: without cancellation, and means of sums that are finite.
        ExtremeOperand x = rows_of(length, true);
        for (float& value : x.values) value = std::min(std::fabs(value), 1e36f);
        expect_right_at_extremes(p, {x}, {{1e-6, 0}, Tolerance{1e-6, 0}, {}, true});
      }
}

// Sums of windows are float32, too.
TEST(Extremes, OfPooling) {
  for (const fbs::PoolKind kind : fbs::EnumValuesPoolKind())
    for (const bool finite : {true, false}) {
      SCOPED_TRACE(fbs::EnumNamePoolKind(kind));
      fbs::Pool2dT p;
      p.kind = kind;
      p.kernel_h = p.kernel_w = 2;
      p.pad_top = p.pad_left = 1;
      ExtremeOperand x = rows_of(40, finite);
      for (float& value : x.values)
        if (kind == fbs::PoolKind::Average && std::isfinite(value)) value = std::min(std::fabs(value), 1e36f);
      x.shape = {1, x.shape[0], 5, 8};
      expect_right_at_extremes(p, {x},
                               {{1e-6, 0}, finite ? std::optional(Tolerance{1e-6, 0}) : std::nullopt, {}, true});
    }
}

// Rows beside NaN are unaffected. Squares beyond float32's range would be infinite, as in PyTorch.
TEST(Extremes, OfNormsOfRows) {
  for (const bool centered : {true, false})
    for (const size_t length : {5, 70}) {
      fbs::LayerNormT p;
      p.centered = centered;
      const auto channels = static_cast<int32_t>(length);
      const ExtremeOperand weight{{channels}, std::vector<float>(length, 1.5f), true};
      const ExtremeOperand bias{{channels}, std::vector<float>(length, 0.25f), true};
      ExtremeOperand x = rows_of(length, false);
      for (size_t i = 0; i < x.values.size(); ++i) {
        float& value = x.values[i];
        if (std::fabs(value) > 1e15f) value = std::copysign(i % 2 == 0 ? 1e15f : 3e14f, value);
      }
      expect_right_at_extremes(p, {x, weight, bias}, {{1e-5, 1e-5}, {}, {}, true});
      for (float& value : x.values)
        if (std::isnan(value)) value = 1;
      expect_right_at_extremes(p, {x, weight, bias}, {{1e-5, 1e-5}, Tolerance{1e-5, 1e-5}, {}, true});
    }
}

// Masked keys have no weight, whatever the mask's value. If all have the same finite one, all count; with -infinity,
// the softmax is 0 / 0.
TEST(Extremes, OfMaskedAttention) {
  for (const int32_t keys : {6, 300})
    for (const float masked : {-1e4f, -1e30f, -kMaximum, -kInf}) {
      SCOPED_TRACE(std::to_string(keys) + " keys, mask " + std::to_string(masked));
      const int32_t queries = 5, depth = 8;
      const auto tensor = [](Shape shape) {
        std::vector<float> values(static_cast<size_t>(shape.elements()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = noise(7, static_cast<uint32_t>(i));
        return ExtremeOperand{shape, values};
      };
      // Query 0 sees all keys, 3 only the last, 4 none.
      ExtremeOperand mask{{1, 1, queries, keys}, std::vector<float>(static_cast<size_t>(queries * keys), 0.0f)};
      for (int32_t q = 0; q < queries; ++q)
        for (int32_t k = 0; k < keys; ++k)
          if (q == 4 || (q == 3 ? k + 1 < keys : k % 4 < q)) mask.values[static_cast<size_t>(q * keys + k)] = masked;
      fbs::AttentionT p;
      p.heads = p.kv_heads = 2;
      std::optional<Tolerance> gpu;
      if (masked != -1e4f && masked != -kMaximum) gpu = {3e-5, 3e-6};
      const double score_step = masked == -1e4f ? 3e-4 : 0;  // in float32
      expect_right_at_extremes(
          p, {tensor({1, queries, 2 * depth}), tensor({1, keys, 2 * depth}), tensor({1, keys, 2 * depth}), mask},
          {{1e-5, 1e-6 + score_step}, gpu, Undefined::IsAny, true});
    }
}

// NaN does not spread to other pixels. (The clamp of a fused ReLU may replace it.)
TEST(Extremes, OfPointwiseConvolutions) {
  const int32_t inputs = 8, outputs = 48;
  ExtremeOperand x{{1, 8, 8, inputs}, std::vector<float>(64 * inputs, 0.5f)};
  x.values[3 * inputs + 1] = kNaN;
  x.values[7 * inputs] = -1e30f;
  const ExtremeOperand weight{{outputs, 1, 1, inputs}, std::vector<float>(outputs * inputs, 1.25f), true};
  fbs::Conv2dT p;
  p.output_min = 0;
  p.output_max = 6;
  expect_right_at_extremes(p, {x, weight}, {{1e-6, 0}, {}, Undefined::IsAny, true});
}

}  // namespace
}  // namespace ferry::testing
