// MediaPipe's custom operators, which no published interpreter includes: the expected values are computed here, by the
// formulas of mediapipe/util/tflite/operations.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

constexpr int kSame = 1, kValid = 2;

std::vector<uint8_t> pool_options(const std::vector<int32_t>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

BlobTensor tensor(const std::vector<int64_t>& dims, uint32_t seed, float low = -1, float high = 1) {
  size_t count = 1;
  for (const int64_t d : dims) count *= static_cast<size_t>(d);
  const std::vector<float> values = random_values(count, seed, low, high);
  return {dims, {values.begin(), values.end()}};
}

// The maximum of each window of 3x2 at strides of 2 and 1, and its index.
void compare_argmax(int padding) {
  constexpr int kHeight = 7, kWidth = 6, kDepth = 3, kFilterH = 3, kFilterW = 2, kStrideH = 2, kStrideW = 1;
  const bool same = padding == kSame;
  const int height = same ? 4 : 3, width = same ? 6 : 5;
  const int before_h = same ? ((height - 1) * kStrideH + kFilterH - kHeight) / 2 : 0;
  const int before_w = same ? ((width - 1) * kStrideW + kFilterW - kWidth) / 2 : 0;
  FileBuilder b;
  const int x = b.input({1, kHeight, kWidth, kDepth});
  const int most = b.activation({1, height, width, kDepth}), index = b.activation({1, height, width, kDepth});
  b.custom("MaxPoolingWithArgmax2D", {x}, {most, index},
           pool_options({padding, kStrideW, kStrideH, kFilterW, kFilterH, 0}));
  const ScratchFolder folder;
  const BlobTensor in = tensor({1, kHeight, kWidth, kDepth}, 3);
  const BlobTensors out = run_graph(*import_tflite(folder.write("m.tflite", b.finish({most, index}))), {{"in0", in}});
  size_t at = 0;
  for (int oy = 0; oy < height; ++oy)
    for (int ox = 0; ox < width; ++ox)
      for (int c = 0; c < kDepth; ++c, ++at) {
        double best = -1e30, where = 0;
        for (int fy = 0; fy < kFilterH; ++fy)
          for (int fx = 0; fx < kFilterW; ++fx) {
            const int iy = oy * kStrideH - before_h + fy, ix = ox * kStrideW - before_w + fx;
            if (iy < 0 || iy >= kHeight || ix < 0 || ix >= kWidth) continue;
            const double v = in.values[static_cast<size_t>((iy * kWidth + ix) * kDepth + c)];
            if (v > best) best = v, where = fy * kFilterW + fx + 0.1;
          }
        ASSERT_NEAR(out.at("t0").values[at], best, 1e-6) << at;
        ASSERT_NEAR(out.at("t1").values[at], where, 1e-5) << at;
      }
}

TEST(TfliteMediapipeOperators, MaxPoolingWithArgmax2D) {
  compare_argmax(kSame);
  compare_argmax(kValid);
}

TEST(TfliteMediapipeOperators, MaxUnpooling2DPutsValuesBack) {
  constexpr int kHeight = 3, kWidth = 2, kDepth = 2, kFilterH = 2, kFilterW = 3;
  FileBuilder b;
  const int x = b.input({1, kHeight, kWidth, kDepth}), index = b.input({1, kHeight, kWidth, kDepth});
  const int y = b.activation({1, kHeight * kFilterH, kWidth * kFilterW, kDepth});
  b.custom("MaxUnpooling2D", {x, index}, {y}, pool_options({kSame, kFilterW, kFilterH, kFilterW, kFilterH, 0}));
  const BlobTensor values = tensor({1, kHeight, kWidth, kDepth}, 1);
  BlobTensor places = tensor({1, kHeight, kWidth, kDepth}, 2, 0, kFilterH * kFilterW);
  for (double& v : places.values) v = std::floor(v) + 0.1;
  std::vector<double> expected(kHeight * kFilterH * kWidth * kFilterW * kDepth);
  for (int iy = 0; iy < kHeight; ++iy)
    for (int ix = 0; ix < kWidth; ++ix)
      for (int c = 0; c < kDepth; ++c) {
        const auto from = static_cast<size_t>((iy * kWidth + ix) * kDepth + c);
        const int place = static_cast<int>(places.values[from]);
        const int oy = iy * kFilterH + place / kFilterW, ox = ix * kFilterW + place % kFilterW;
        expected[static_cast<size_t>((oy * kWidth * kFilterW + ox) * kDepth + c)] = values.values[from];
      }
  const ScratchFolder folder;
  const BlobTensors out =
      run_graph(*import_tflite(folder.write("m.tflite", b.finish({y}))), {{"in0", values}, {"in1", places}});
  EXPECT_LE(difference(out.at("t0").values, expected), 1e-6);
}

// A rotation and a shift, by which some positions are outside of the map.
void compare_transform(const std::string& name, double centre) {
  constexpr int kHeight = 5, kWidth = 6, kDepth = 2, kRows = 4, kColumns = 7;
  const std::vector<double> m = {0.8, -0.5, 0, 1.5, 0.4, 0.9, 0, -0.75, 0, 0, 1, 0, 0, 0, 0, 1};
  FileBuilder b;
  const int x = b.input({1, kHeight, kWidth, kDepth}), matrix = b.input({1, 4, 4});
  const int y = b.activation({1, kRows, kColumns, kDepth});
  b.custom(name, {x, matrix}, {y}, {});
  const BlobTensor in = tensor({1, kHeight, kWidth, kDepth}, 4);
  std::vector<double> expected;
  size_t outside = 0;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      const double at_x = m[0] * (column + centre) + m[1] * (row + centre) + m[3] - centre;
      const double at_y = m[4] * (column + centre) + m[5] * (row + centre) + m[7] - centre;
      const bool inside = at_x >= 0 && at_x <= kWidth - 1 && at_y >= 0 && at_y <= kHeight - 1;
      if (!inside) ++outside;
      for (int c = 0; c < kDepth; ++c) {
        double sum = 0;
        for (int k = 0; inside && k < 4; ++k) {
          const int ix = static_cast<int>(std::floor(at_x)) + k % 2, iy = static_cast<int>(std::floor(at_y)) + k / 2;
          if (ix >= kWidth || iy >= kHeight) continue;
          const double share_x = 1 - std::fabs(at_x - ix), share_y = 1 - std::fabs(at_y - iy);
          sum += share_x * share_y * in.values[static_cast<size_t>((iy * kWidth + ix) * kDepth + c)];
        }
        expected.push_back(sum);
      }
    }
  ASSERT_GT(outside, 2u);
  ASSERT_LT(outside, 20u);
  const ScratchFolder folder;
  const BlobTensors out =
      run_graph(*import_tflite(folder.write("m.tflite", b.finish({y}))), {{"in0", in}, {"in1", {{1, 4, 4}, m}}});
  EXPECT_LE(difference(out.at("t0").values, expected), 1e-5);
}

TEST(TfliteMediapipeOperators, TransformTensor) { compare_transform("TransformTensor", 0); }
TEST(TfliteMediapipeOperators, TransformTensorBilinear) { compare_transform("TransformTensorBilinear", 0.5); }

std::string refused(const std::string& name, const FileBuilder::Shape& second, const std::vector<uint8_t>& options,
                    const FileBuilder::Shape& result = {1, 4, 4, 2}) {
  FileBuilder b;
  std::vector<int> inputs = {b.input({1, 4, 4, 2})};
  if (!second.empty()) inputs.push_back(b.input(second));
  const int y = b.activation(result);
  b.custom(name, inputs, {y}, options);
  const ScratchFolder folder;
  return refusal(folder.write("m.tflite", b.finish({y})));
}

TEST(TfliteMediapipeOperators, AbsurdOptionsAreRefused) {
  const auto pool = [](const std::vector<int32_t>& values) {
    return refused("MaxPoolingWithArgmax2D", {}, pool_options(values));
  };
  EXPECT_NE(pool({1, 2, 2}).find("its options have 12 bytes"), std::string::npos);
  EXPECT_NE(pool({3, 2, 2, 2, 2, 0}).find("its padding is number 3"), std::string::npos);
  EXPECT_NE(pool({1, 0, 2, 2, 2, 0}), "");
  EXPECT_NE(pool({1, 2, 2, INT32_MAX, INT32_MAX, 0}), "");
  EXPECT_NE(pool({2, 1, 1, 8, 8, 0}).find("a window larger than the map"), std::string::npos);
  EXPECT_NE(pool({1, 2, 2, 2, 2, 9}).find("its fused activation is number 9"), std::string::npos);
  const auto unpool = [](const FileBuilder::Shape& indices, const std::vector<int32_t>& values) {
    return refused("MaxUnpooling2D", indices, pool_options(values));
  };
  EXPECT_NE(unpool({1, 4, 2, 2}, {1, 2, 2, 2, 2, 0}).find("indices [1,4,2,2]"), std::string::npos)
      << unpool({1, 4, 2, 2}, {1, 2, 2, 2, 2, 0});
  EXPECT_NE(unpool({1, 4, 4, 2}, {1, 1, 1, 2, 2, 0}).find("strides 1x1 of windows 2x2"), std::string::npos);
  EXPECT_NE(refused("TransformTensorBilinear", {1, 3, 4}, {}).find("a matrix"), std::string::npos);
  EXPECT_NE(refused("TransformTensorBilinear", {1, 4, 4}, {}, {1, 4, 4, 3}).find("of as many channels"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::testing
