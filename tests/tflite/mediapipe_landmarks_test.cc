// MediaPipe's custom operators on points, which no published interpreter includes: the expected values are computed
// here, by the formulas of mediapipe/util/tflite/operations.
#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "converter/error.h"
#include "converter/tflite/importer.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

constexpr const char *kMatrix = "Landmarks2TransformMatrix", *kMove = "TransformLandmarks";
constexpr int kPoints = 6;
const std::vector<int> kSubset = {4, 0, 3, 5};

using Bytes = std::vector<uint8_t>;

Bytes map_of(const std::function<void(flexbuffers::Builder&)>& fill) {
  flexbuffers::Builder b;
  b.Map([&] { fill(b); });
  b.Finish();
  return b.GetBuffer();
}

void add_list(flexbuffers::Builder& b, const char* name, const std::vector<int>& list) {
  b.TypedVector(name, [&] {
    for (const int i : list) b.Int(i);
  });
}

Bytes second_version(int right = 2, const std::vector<int>& subset = kSubset, int width = 4) {
  return map_of([&](flexbuffers::Builder& b) {
    b.Int("left_rotation_idx", 1);
    b.Int("right_rotation_idx", right);
    b.Int("output_width", width);
    b.Int("output_height", 3);
    b.Float("scale_x", 1.5f);
    b.Float("scale_y", 1.25f);
    b.Float("target_rotation_radians", 0.3f);
    add_list(b, "subset_idxs", subset);
  });
}

Bytes first_version(const std::vector<int>& to = {3, 4}) {
  return map_of([&](flexbuffers::Builder& b) {
    b.Int("dimensions", 3);
    b.Int("landmarks_range", 192);
    b.Int("left_rotation_idx", 1);
    b.Int("right_rotation_idx", 2);
    b.Float("bbox_size_multiplier", 1.5f);
    add_list(b, "input_hw", {40, 48});
    add_list(b, "output_hw", to);
    add_list(b, "subset", kSubset);
  });
}

std::string matrix_file(const Bytes& options, int version, const FileBuilder::Shape& points = {1, kPoints, 3}) {
  FileBuilder b;
  const int x = b.input(points), y = b.activation({1, 4, 4});
  b.custom(kMatrix, {x}, {y}, options, version);
  return b.finish({y});
}

std::string move_file(const Bytes& options, int version, const FileBuilder::Shape& points,
                      const FileBuilder::Shape& matrix = {1, 4, 4}) {
  FileBuilder b;
  const int x = b.input(points), m = b.input(matrix), y = b.activation(points);
  b.custom(kMove, {x, m}, {y}, options, version);
  return b.finish({y});
}

BlobTensor random_tensor(const std::vector<int64_t>& dims, uint32_t seed) {
  size_t count = 1;
  for (const int64_t d : dims) count *= static_cast<size_t>(d);
  const std::vector<float> values = random_values(count, seed, 0, 100);
  return {dims, {values.begin(), values.end()}};
}

std::vector<double> result_of(const std::string& file, const BlobTensors& inputs) {
  const ScratchFolder folder;
  return run_graph(*import_tflite(folder.write("m.tflite", file)), inputs).at("t0").values;
}

struct Upright {
  double angle, centre[2], size[2];
};

// The box around the points of kSubset after a rotation by `angle`, and its centre rotated back.
Upright upright(const std::vector<double>& points, double angle) {
  double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
  for (const int i : kSubset) {
    const double x = points[static_cast<size_t>(3 * i)], y = points[static_cast<size_t>(3 * i + 1)];
    const double rotated[2] = {x * std::cos(angle) - y * std::sin(angle), x * std::sin(angle) + y * std::cos(angle)};
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], rotated[axis]);
      high[axis] = std::max(high[axis], rotated[axis]);
    }
  }
  const double x = (low[0] + high[0]) / 2, y = (low[1] + high[1]) / 2;
  return {angle,
          {x * std::cos(angle) + y * std::sin(angle), y * std::cos(angle) - x * std::sin(angle)},
          {high[0] - low[0], high[1] - low[1]}};
}

TEST(TfliteMediapipeLandmarks, MatrixOfTheSecondVersion) {
  for (uint32_t seed = 1; seed < 5; ++seed) {
    const BlobTensor in = random_tensor({1, kPoints, 3}, seed);
    const std::vector<double>& p = in.values;
    const Upright box = upright(p, 0.3f - std::atan2(p[7] - p[4], p[6] - p[3]));
    const double c = std::cos(box.angle), s = std::sin(box.angle);
    const double x = 1.5 * box.size[0] / 4, y = 1.25 * box.size[1] / 3;
    const std::vector<double> expected = {c * x,  s * y, 0, box.centre[0] - c * x * 2 - s * y * 1.5,  //
                                          -s * x, c * y, 0, box.centre[1] + s * x * 2 - c * y * 1.5,  //
                                          0,      0,     1, 0,                                        //
                                          0,      0,     0, 1};
    EXPECT_LE(difference(result_of(matrix_file(second_version(), 2), {{"in0", in}}), expected), 1e-5) << seed;
  }
}

TEST(TfliteMediapipeLandmarks, MatrixOfTheFirstVersion) {
  for (uint32_t seed = 1; seed < 5; ++seed) {
    const BlobTensor in = random_tensor({1, 1, 1, kPoints * 3}, seed);
    const std::vector<double>& p = in.values;
    const Upright box = upright(p, -std::atan((p[7] - p[4]) / (p[6] - p[3])));
    const double c = std::cos(box.angle), s = std::sin(box.angle);
    const double x = 1.5 * box.size[0] / 192, y = 1.5 * box.size[1] / 192;
    const double half_w = (48 - 1) / 2.0, half_h = (40 - 1) / 2.0;  // of the map
    const double in_x = box.centre[0] / 192 * 2 - 1, in_y = box.centre[1] / 192 * 2 - 1;
    const std::vector<double> expected = {half_w * c * x * 2 / 3,
                                          half_w * s * y * 2 / 2,
                                          0,
                                          half_w * (in_x - c * x - s * y) + half_w,  //
                                          -half_h * s * x * 2 / 3,
                                          half_h * c * y * 2 / 2,
                                          0,
                                          half_h * (in_y + s * x - c * y) + half_h,  //
                                          0,
                                          0,
                                          1,
                                          0,  //
                                          0,
                                          0,
                                          0,
                                          1};
    const std::string file = matrix_file(first_version(), 1, {1, 1, 1, kPoints * 3});
    EXPECT_LE(difference(result_of(file, {{"in0", in}}), expected), 1e-5) << seed;
  }
}

// Two equal points have the angle 0, as atan2(0, 0) is.
TEST(TfliteMediapipeLandmarks, MatrixOfALineWithoutLength) {
  const BlobTensor in = random_tensor({1, kPoints, 3}, 1);
  const std::vector<double> m = result_of(matrix_file(second_version(/*right=*/1), 2), {{"in0", in}});
  EXPECT_NEAR(std::atan2(-m[4], m[0]), 0.3, 1e-5);
}

void compare_moved(int coordinates, int version) {
  const Bytes options = version == 2 ? Bytes() : map_of([&](flexbuffers::Builder& b) {
    b.Int("dimensions", coordinates);
    b.Float("scale", 2.5f);
  });
  const int count = 5;
  const std::vector<int64_t> dims =
      version == 2 ? std::vector<int64_t>{1, count, coordinates} : std::vector<int64_t>{1, 1, 1, count * coordinates};
  const BlobTensor in = random_tensor(dims, 3), matrix = random_tensor({1, 4, 4}, 4);
  std::vector<double> expected = in.values;
  for (int i = 0; i < count; ++i)
    for (int row = 0; row < 2; ++row) {
      const auto at = static_cast<size_t>(coordinates * i);
      const double* m = &matrix.values[static_cast<size_t>(4 * row)];
      expected[at + static_cast<size_t>(row)] =
          m[0] * in.values[at] + m[1] * in.values[at + 1] + m[3] * (version == 2 ? 1 : 2.5);
    }
  const std::string file = move_file(options, version, {dims.begin(), dims.end()});
  EXPECT_LE(difference(result_of(file, {{"in0", in}, {"in1", matrix}}), expected), 1e-5);
}

TEST(TfliteMediapipeLandmarks, PointsAreMoved) {
  for (const int coordinates : {2, 3})
    for (const int version : {1, 2}) compare_moved(coordinates, version);
}

TEST(TfliteMediapipeLandmarks, AbsurdOptionsAreRefused) {
  const ScratchFolder folder;
  const auto why = [&](const std::string& file) { return refusal(folder.write("m.tflite", file)); };
  EXPECT_EQ(why(matrix_file(second_version(), 2)), "");
  EXPECT_NE(why(matrix_file({}, 2)).find("its options are no map"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(kPoints), 2)).find("right_rotation_idx is 6 of 6"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(-1), 2)).find("right_rotation_idx is -1 of 6"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(2, {0, 6}), 2)).find("subset_idxs has 6 of 6"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(2, {}), 2)).find("no points to surround"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(2, kSubset, 0), 2)).find("output_width is 0"), std::string::npos);
  EXPECT_NE(why(matrix_file(second_version(), 2, {1, 5, 2, 2})).find("of 3 coordinates"), std::string::npos);
  EXPECT_NE(why(matrix_file(first_version({1, 4}), 1)).find("output_hw is not"), std::string::npos);
  EXPECT_NE(why(matrix_file(first_version({3}), 1)).find("output_hw is not"), std::string::npos);
  EXPECT_NE(why(move_file({}, 2, {1, 3, 4})).find("points of 4 coordinates, expected 2 or 3"), std::string::npos);
  EXPECT_NE(why(move_file({}, 2, {1, 3, 2}, {1, 3, 4})).find("a matrix [1,3,4], expected 4x4"), std::string::npos);
}

TEST(TfliteMediapipeLandmarks, DamagedFilesEndInASentence) {
  const ScratchFolder folder;
  int refused = 0;
  for (const std::string& whole :
       {matrix_file(second_version(), 2), matrix_file(first_version(), 1), move_file({}, 2, {1, 5, 3})})
    for (size_t at = 0; at + 4 <= whole.size(); at += 2)
      for (const int32_t value : {-1, 0, 0x7f7f7f7f}) {
        std::string bytes = whole;
        std::memcpy(&bytes[at], &value, sizeof value);
        try {
          const tflite::File file = tflite::open_file(folder.write("m.tflite", bytes));
          (void)tflite::import_file(file, {});
        } catch (const Error& error) {
          ++refused;
          EXPECT_STRNE(error.what(), "");
        }
      }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace ferry::testing
