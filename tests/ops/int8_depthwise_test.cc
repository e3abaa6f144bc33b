// The depthwise convolutions of sdk/cpu/int8/ for each instruction set of this machine, against plain loops: equal.
#include "sdk/cpu/int8/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sdk/model/model.h"

namespace ferry::cpu {
namespace {

struct Case {
  size_t channels, kernel, stride;
  int64_t height, width;
  int64_t top, left, bottom, right;  // padding

  int64_t out_height() const { return (height + top + bottom - size()) / step() + 1; }
  int64_t out_width() const { return (width + left + right - size()) / step() + 1; }
  int64_t size() const { return static_cast<int64_t>(kernel); }
  int64_t step() const { return static_cast<int64_t>(stride); }
  Int8DepthwiseShape shape() const { return {channels, kernel, stride}; }
  std::string text() const {
    return std::to_string(kernel) + "x" + std::to_string(kernel) + "/" + std::to_string(stride) + ", " +
           std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels) + ", padding " +
           std::to_string(top) + " " + std::to_string(left) + " " + std::to_string(bottom) + " " +
           std::to_string(right);
  }
};

struct Data {
  std::vector<int8_t> x, weight;
  std::vector<int32_t> bias;
  std::vector<float> multipliers;
  int32_t zero_point = 0, out_zero_point = 0, low = -128, high = 127;
};

// As docs/format.md defines it, with a sum of 64 bits that wraps around to 32.
std::vector<int8_t> expected(const Case& c, const Data& data) {
  std::vector<int8_t> y;
  for (int64_t row = 0; row < c.out_height(); ++row)
    for (int64_t column = 0; column < c.out_width(); ++column)
      for (size_t channel = 0; channel < c.channels; ++channel) {
        int64_t sum = data.bias.empty() ? 0 : data.bias[channel];
        for (int64_t i = 0; i < c.size(); ++i)
          for (int64_t j = 0; j < c.size(); ++j) {
            const int64_t from_row = row * c.step() - c.top + i, from_column = column * c.step() - c.left + j;
            if (from_row < 0 || from_row >= c.height || from_column < 0 || from_column >= c.width) continue;
            const int64_t x = data.x[static_cast<size_t>(from_row * c.width + from_column) * c.channels + channel];
            const int64_t w = data.weight[channel * c.kernel * c.kernel + static_cast<size_t>(i * c.size() + j)];
            sum += (x - data.zero_point) * w;
          }
        const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum));
        const float units = static_cast<float>(wrapped) * data.multipliers[channel];
        const double whole = std::nearbyint(double{units}) + data.out_zero_point;
        y.push_back(static_cast<int8_t>(std::clamp<double>(whole, data.low, data.high)));
      }
  return y;
}

// Computes strips of `rows` rows, one block at a time.
std::vector<int8_t> computed(const Int8DepthwiseKernel& kernel, const Case& c, const Data& data, int64_t rows) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const Int8DepthwiseShape shape = c.shape();
  std::vector<Line> packed(kernel.packed_bytes(shape) / sizeof(Line) + 1),
      scratch(kInt8DepthwiseScratch / sizeof(Line));
  const int32_t* const bias = data.bias.empty() ? nullptr : data.bias.data();
  kernel.pack(shape, {data.weight.data(), bias, data.multipliers.data(), data.zero_point}, packed.data());
  std::vector<int8_t> x = data.x;
  x.resize(x.size() + kExtraBytes, 99);
  const auto size = static_cast<size_t>(c.out_height() * c.out_width()) * c.channels;
  constexpr size_t kGuard = 64;
  constexpr int8_t kUntouched = 77;
  std::vector<int8_t> y(size + 2 * kGuard, kUntouched);
  for (int64_t from = 0; from < c.out_height(); from += rows)
    for (size_t block = 0; block < kernel.blocks(shape); ++block) {
      const int64_t first = std::clamp<int64_t>(from * c.step() - c.top, 0, c.height - 1);
      Int8DepthwiseRows strip{};
      strip.x = x.data() + static_cast<size_t>(first * c.width) * c.channels;
      strip.first = first;
      strip.height = c.height, strip.width = c.width;
      strip.pad_top = c.top, strip.pad_left = c.left;
      strip.zero_point = data.zero_point;
      strip.from = from, strip.to = std::min(from + rows, c.out_height()), strip.out_width = c.out_width();
      strip.y = y.data() + kGuard + static_cast<size_t>(from * c.out_width()) * c.channels;
      strip.first_block = block, strip.end_block = block + 1;
      strip.out_zero_point = data.out_zero_point, strip.low = data.low, strip.high = data.high;
      strip.scratch = scratch.data();
      kernel.compute(shape, packed.data(), strip);
    }
  const auto untouched = [](int8_t value) { return value == kUntouched; };
  EXPECT_TRUE(std::all_of(y.begin(), y.begin() + kGuard, untouched)) << "writes before the output";
  EXPECT_TRUE(std::all_of(y.end() - kGuard, y.end(), untouched)) << "writes past the output";
  return {y.begin() + kGuard, y.end() - kGuard};
}

struct Named {
  const char* name;
  const Int8DepthwiseKernel* kernel;
};

std::vector<Named> kernels() {
  std::vector<Named> all;
  const CpuFeatures& cpu = cpu_features();
  if (cpu.avx512_vnni || cpu.dot_products) all.push_back({"dot products", int8_depthwise_dot()});
  if (cpu.avx2) all.push_back({"AVX2", int8_depthwise_avx2()});
  return all;
}

void expect_equal(const Case& c, const Data& data, const char* what) {
  const std::vector<int8_t> reference = expected(c, data);
  for (const Named& named : kernels())
    for (const int64_t rows : {c.out_height(), int64_t{3}}) {
      const std::vector<int8_t> y = computed(*named.kernel, c, data, rows);
      size_t wrong = 0;
      while (wrong < y.size() && y[wrong] == reference[wrong]) ++wrong;
      if (wrong == y.size()) continue;
      ADD_FAILURE() << named.name << ", " << c.text() << ", " << what << ", by " << rows << " rows: value " << wrong
                    << " of " << y.size() << " is " << int{y[wrong]} << ", not " << int{reference[wrong]};
      return;
    }
}

std::mt19937 random_numbers(7);
int32_t random_between(int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random_numbers() % static_cast<uint32_t>(high - low + 1));
}

Data random_data(const Case& c, int32_t zero_point, int32_t out_zero_point) {
  Data data;
  data.x.resize(static_cast<size_t>(c.height * c.width) * c.channels);
  data.weight.resize(c.channels * c.kernel * c.kernel);
  for (int8_t& x : data.x) x = static_cast<int8_t>(random_between(-128, 127));
  for (int8_t& w : data.weight) w = static_cast<int8_t>(random_between(-127, 127));
  for (size_t i = 0; i < c.channels; ++i) {
    data.bias.push_back(random_between(-20000, 20000));
    data.multipliers.push_back(0.0001f * static_cast<float>(random_between(1, 40)));
  }
  data.zero_point = zero_point;
  data.out_zero_point = out_zero_point;
  return data;
}

// Whole and partial blocks, tiles and groups of rows, images smaller than a kernel, and every side's padding.
TEST(Int8Depthwise, EqualsPlainLoops) {
  if (kernels().empty()) GTEST_SKIP() << "no kernel for this CPU";
  for (const size_t kernel : {size_t{3}, size_t{5}})
    for (const size_t stride : {size_t{1}, size_t{2}}) {
      const int64_t pad = static_cast<int64_t>(kernel) / 2;
      for (const size_t channels : {1u, 3u, 16u, 17u, 32u, 33u, 63u, 64u, 96u, 100u, 144u}) {
        const Case c{channels, kernel, stride, 9, 11, pad, pad, pad, pad};
        expect_equal(c, random_data(c, -128 + static_cast<int32_t>(channels), 5), "random");
      }
      for (const int64_t size : {1, 2, 4, 7, 70}) {
        const Case c{24, kernel, stride, std::min<int64_t>(size, 8), size, pad, pad, pad, pad};
        expect_equal(c, random_data(c, 3, -7), "random");
      }
      const Case uneven{20, kernel, stride, 10, 8, 0, 1, 2, 0}, wide{8, kernel, stride, 5, 300, 1, 0, 0, 2};
      expect_equal(uneven, random_data(uneven, -1, 0), "random");
      expect_equal(wide, random_data(wide, 127, 127), "random");
    }
}

TEST(Int8Depthwise, IsExactAtExtremes) {
  if (kernels().empty()) GTEST_SKIP() << "no kernel for this CPU";
  for (const size_t kernel : {size_t{3}, size_t{5}}) {
    const int64_t pad = static_cast<int64_t>(kernel) / 2;
    const Case c{40, kernel, 1, 6, 6, pad, pad, pad, pad};
    for (const int32_t zero_point : {-128, 0, 127})
      for (const int32_t out_zero_point : {-128, 127}) {
        const auto check = [&](const char* what, const auto& change) {
          Data data = random_data(c, zero_point, out_zero_point);
          change(data);
          expect_equal(c, data, what);
        };
        check("extreme inputs and weights", [](Data& data) {
          for (int8_t& x : data.x) x = random_between(0, 1) == 0 ? -128 : 127;
          for (int8_t& w : data.weight) w = random_between(0, 1) == 0 ? -127 : 127;
        });
        check("inputs and weights of one sign", [](Data& data) {
          std::fill(data.x.begin(), data.x.end(), int8_t{-128});
          std::fill(data.weight.begin(), data.weight.end(), int8_t{-127});
        });
        check("weights of -128", [](Data& data) {
          std::fill(data.x.begin(), data.x.end(), int8_t{-128});
          std::fill(data.weight.begin(), data.weight.end(), int8_t{-128});
        });
        check("ties", [](Data& data) {
          for (int8_t& w : data.weight) w = static_cast<int8_t>(random_between(-1, 1));
          for (float& multiplier : data.multipliers) multiplier = 0.5f;
        });
        check("tiny multipliers", [](Data& data) {
          for (float& multiplier : data.multipliers) multiplier = 1e-8f;
        });
        check("large multipliers", [](Data& data) {
          for (float& multiplier : data.multipliers) multiplier = 255.9f;
        });
        check("large biases", [](Data& data) {
          for (int32_t& bias : data.bias) bias = random_between(0, 1) == 0 ? INT32_MIN + 9 : INT32_MAX - 9;
          for (size_t i = 0; i < data.multipliers.size(); ++i) data.multipliers[i] = i % 2 == 0 ? 3e-8f : 100.0f;
        });
        check("no bias, with bounds", [](Data& data) {
          data.bias.clear();
          data.low = -20;
          data.high = 30;
        });
      }
  }
}

}  // namespace
}  // namespace ferry::cpu
