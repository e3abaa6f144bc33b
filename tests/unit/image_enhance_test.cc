// A large image upscaled in tiles equals the whole image upscaled, for any tile size.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>

#include "converter/pack/pack.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

// Three padded 3x3 convolutions with nonlinearities between them, then a pixel shuffle to twice the size. The receptive
// field extends three input pixels to each side.
std::vector<std::byte> upscaler(int halo) {
  Graph g;
  Tensor x = g.add_input("input", {1, 8, 8, 3}, fbs::Layout::NCHW);
  for (int i = 0; i < 3; ++i) {
    const int in = i == 0 ? 3 : 6, out = i == 2 ? 12 : 6;
    const std::string name = "body." + std::to_string(i);
    std::vector<float> weights, biases;
    for (int k = 0; k < out * 9 * in; ++k) {
      weights.push_back(testing::noise(static_cast<uint32_t>(i), static_cast<uint32_t>(k)) /
                        std::sqrt(9.0f * static_cast<float>(in)) * 3);
    }
    for (int k = 0; k < out; ++k) biases.push_back(i == 2 ? 0.5f : testing::noise(9, static_cast<uint32_t>(k)));
    fbs::Conv2dT conv;
    conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
    x = g.add_op(
        name, conv,
        {x, g.add_constant(name + ".weight", {out, 3, 3, in}, weights), g.add_constant(name + ".bias", {out}, biases)});
    if (i == 2) break;
    fbs::UnaryT leaky;
    leaky.kind = fbs::UnaryKind::LeakyRelu;
    leaky.alpha = 0.2f;
    x = g.add_op(name + ".act", leaky, {x});
  }
  g.add_output("output", g.add_op("shuffle", fbs::PixelShuffleT(), {x}), fbs::Layout::NCHW);
  g.table.name = "upscaler";
  g.table.preprocess = std::make_unique<fbs::PreprocessT>();
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = fbs::Task::ImageToImage;
  g.table.postprocess->upscale = 2;
  g.table.postprocess->halo = halo;
  return pack(g);
}

class Enhance : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint32_t i = 0; i < kWidth * kHeight * 3; ++i) {
      pixels_.push_back(static_cast<uint8_t>(127.5f + 255 * testing::noise(3, i)));
    }
    image_ = {pixels_.data(), kWidth, kHeight, 3 * kWidth, false};
    open(3);
  }
  void TearDown() override { close(); }

  void open(int halo) {
    blob_ = std::make_unique<testing::AlignedBytes>(upscaler(halo));
    ASSERT_EQ(ferry_model_open_memory(blob_->data(), blob_->size(), &model_), FERRY_OK) << ferry_last_error();
    ferry_session_options options;
    ferry_session_options_init(&options);
    options.num_threads = 1;
    ASSERT_EQ(ferry_session_create(model_, &options, &session_), FERRY_OK) << ferry_last_error();
  }
  void close() {
    ferry_session_close(session_);
    ferry_model_close(model_);
  }

  std::vector<uint8_t> enhanced(int tile) {
    ferry_image out;
    EXPECT_EQ(ferry_session_enhance(session_, &image_, tile, &out), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(out.width, 2 * kWidth);
    EXPECT_EQ(out.height, 2 * kHeight);
    std::vector<uint8_t> bytes(out.pixels, out.pixels + int64_t{out.stride} * out.height);
    ferry_image_free(&out);
    EXPECT_EQ(out.pixels, nullptr);
    return bytes;
  }

  static constexpr int kWidth = 45, kHeight = 31;
  std::unique_ptr<testing::AlignedBytes> blob_;
  ferry_model* model_ = nullptr;
  ferry_session* session_ = nullptr;
  std::vector<uint8_t> pixels_;
  ferry_image image_ = {};
};

TEST_F(Enhance, TilesOfAnySizeGiveTheImageOfOnePiece) {
  const std::vector<uint8_t> whole = enhanced(0);
  // Neither flat nor clipped to a few levels, so that a seam would show.
  int seen[256] = {}, levels = 0;
  for (uint8_t level : whole) ++seen[level];
  for (int count : seen) levels += count > 0;
  ASSERT_GT(levels, 100);
  for (int tile : {4, 7, 16, 30, 1000}) EXPECT_EQ(enhanced(tile), whole) << "tiles of " << tile;
}

TEST_F(Enhance, TooSmallAHaloShowsSeams) {
  const std::vector<uint8_t> whole = enhanced(0);
  close();
  open(2);
  EXPECT_NE(enhanced(16), whole);
}

TEST_F(Enhance, DefaultTilesStayWithinTheSessionsMemory) {
  constexpr int kSide = 200;
  std::vector<uint8_t> pixels;
  for (uint32_t i = 0; i < kSide * kSide * 3; ++i)
    pixels.push_back(static_cast<uint8_t>(127.5f + 255 * testing::noise(3, i)));
  const ferry_image image = {pixels.data(), kSide, kSide, 3 * kSide, false};
  ferry_image whole, tiled;
  ASSERT_EQ(ferry_session_enhance(session_, &image, 0, &whole), FERRY_OK) << ferry_last_error();
  const uint64_t arena = ferry_session_arena_bytes(session_);
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  options.memory_limit = arena / 3;
  ferry_session* small = nullptr;
  ASSERT_EQ(ferry_session_create(model_, &options, &small), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(ferry_session_enhance(small, &image, kSide, &tiled), FERRY_MEMORY_LIMIT);
  ASSERT_EQ(ferry_session_enhance(small, &image, 0, &tiled), FERRY_OK) << ferry_last_error();
  EXPECT_LE(ferry_session_arena_bytes(small), arena / 3);
  EXPECT_EQ(std::memcmp(whole.pixels, tiled.pixels, static_cast<size_t>(whole.stride) * 2 * kSide), 0);
  ferry_image_free(&whole);
  ferry_image_free(&tiled);
  ferry_session_close(small);
}

TEST_F(Enhance, IsWhatSetImageAndRunGive) {
  ASSERT_EQ(ferry_session_set_image(session_, &image_), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(ferry_session_run(session_), FERRY_OK);
  ferry_tensor output;
  ASSERT_EQ(ferry_session_output(session_, 0, &output), FERRY_OK);
  ASSERT_EQ(output.bytes, sizeof(float) * 2 * kWidth * 2 * kHeight * 3);
  const auto* values = static_cast<const float*>(output.data);
  std::vector<uint8_t> expected;
  for (size_t i = 0; i < output.bytes / sizeof(float); ++i) {
    expected.push_back(static_cast<uint8_t>(std::nearbyint(std::min(std::max(values[i] * 255.0f, 0.0f), 255.0f))));
  }
  EXPECT_EQ(enhanced(8), expected);
}

TEST_F(Enhance, PaddedRowsAndPackedRowsGiveTheSame) {
  const std::vector<uint8_t> packed = enhanced(9);
  constexpr int kStride = 3 * kWidth + 13;
  std::vector<uint8_t> padded(kStride * kHeight, 77);
  for (int y = 0; y < kHeight; ++y) {
    std::copy_n(pixels_.begin() + y * 3 * kWidth, 3 * kWidth, padded.begin() + y * kStride);
  }
  image_ = {padded.data(), kWidth, kHeight, kStride, false};
  EXPECT_EQ(enhanced(9), packed);
}

TEST_F(Enhance, InvalidImagesAreRefusedWithTheirSizes) {
  ferry_image out;
  ferry_image wrong = image_;
  wrong.stride = 3 * kWidth - 1;
  EXPECT_EQ(ferry_session_enhance(session_, &wrong, 0, &out), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "an image 45 pixels wide with rows of 134 bytes: RGB needs 135");
  EXPECT_EQ(out.pixels, nullptr);
  wrong = image_;
  wrong.width = 0;
  EXPECT_EQ(ferry_session_set_image(session_, &wrong), FERRY_INVALID_ARGUMENT);
  wrong = {};
  EXPECT_EQ(ferry_session_set_image(session_, &wrong), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(ferry_session_enhance(session_, &image_, -1, &out), FERRY_INVALID_ARGUMENT);
}

TEST_F(Enhance, IsRefusedForAClassifierAndClassesForAnUpscaler) {
  ferry_class top[5];
  size_t count = 5;
  EXPECT_EQ(ferry_session_top_classes(session_, top, &count), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(count, 0u);
  const std::vector<std::byte> packed = pack(*testing::small_classifier());
  testing::AlignedBytes bytes(packed);
  ferry_model* classifier = nullptr;
  ferry_session* session = nullptr;
  ASSERT_EQ(ferry_model_open_memory(bytes.data(), bytes.size(), &classifier), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(ferry_session_create(classifier, nullptr, &session), FERRY_OK) << ferry_last_error();
  ferry_image out;
  EXPECT_EQ(ferry_session_enhance(session, &image_, 0, &out), FERRY_INVALID_ARGUMENT);
  ferry_session_close(session);
  ferry_model_close(classifier);
}

// ---- networks that take whole cells of pixels

// One convolution over cells of side x side pixels and their neighbours, to twice the size.
std::vector<std::byte> cell_upscaler(int side) {
  Graph g;
  const int kernel = 3 * side, out = 3 * 4 * side * side;
  const Tensor x = g.add_input("input", {1, 2 * side, 2 * side, 3}, fbs::Layout::NCHW);
  std::vector<float> weights, biases(static_cast<size_t>(out), 0.5f);
  for (int k = 0; k < out * kernel * kernel * 3; ++k)
    weights.push_back(2 * testing::noise(1, static_cast<uint32_t>(k)) / static_cast<float>(kernel));
  fbs::Conv2dT conv;
  conv.stride_h = conv.stride_w = side;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = side;
  const Tensor y =
      g.add_op("conv", conv,
               {x, g.add_constant("weight", {out, kernel, kernel, 3}, weights), g.add_constant("bias", {out}, biases)});
  fbs::PixelShuffleT shuffle;
  shuffle.factor = 2 * side;
  g.add_output("output", g.add_op("shuffle", shuffle, {y}), fbs::Layout::NCHW);
  g.table.preprocess = std::make_unique<fbs::PreprocessT>();
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = fbs::Task::ImageToImage;
  g.table.postprocess->upscale = 2;
  g.table.postprocess->halo = side;
  g.table.postprocess->multiple_of = side;
  return pack(g);
}

struct Rgb {
  int width, height;
  std::vector<uint8_t> samples;

  uint8_t at(int y, int x, int c) const { return samples[static_cast<size_t>((y * width + x) * 3 + c)]; }
};

Rgb noise_image(int width, int height) {
  Rgb image{width, height, {}};
  for (int i = 0; i < width * height * 3; ++i)
    image.samples.push_back(static_cast<uint8_t>(127.5f + 255 * testing::noise(5, static_cast<uint32_t>(i))));
  return image;
}

Rgb upscale(const std::vector<std::byte>& blob, const Rgb& image, int tile) {
  testing::AlignedBytes bytes(blob);
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_model_open_memory(bytes.data(), bytes.size(), &model), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(ferry_session_create(model, nullptr, &session), FERRY_OK) << ferry_last_error();
  const ferry_image in = {const_cast<uint8_t*>(image.samples.data()), image.width, image.height, 3 * image.width,
                          false};
  ferry_image out = {};
  EXPECT_EQ(ferry_session_enhance(session, &in, tile, &out), FERRY_OK) << ferry_last_error();
  Rgb result{out.width, out.height, {out.pixels, out.pixels + int64_t{out.stride} * out.height}};
  ferry_image_free(&out);
  ferry_session_close(session);
  ferry_model_close(model);
  return result;
}

// By definition: indices past an edge are reflected; a single pixel repeats.
Rgb mirrored(const Rgb& image, int multiple) {
  const auto walk = [](int steps, int length) {
    int at = 0, step = 1;
    for (int i = 0; i < steps && length > 1; ++i) {
      if (at + step < 0 || at + step == length) step = -step;
      at += step;
    }
    return at;
  };
  Rgb out{(image.width + multiple - 1) / multiple * multiple, (image.height + multiple - 1) / multiple * multiple, {}};
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      for (int c = 0; c < 3; ++c) out.samples.push_back(image.at(walk(y, image.height), walk(x, image.width), c));
  return out;
}

TEST(EnhanceInCells, OtherSizesAreMirroredAndTheResultIsCropped) {
  for (const auto& [width, height, cell] :
       {std::tuple{21, 13, 2}, {20, 13, 2}, {21, 14, 2}, {22, 15, 4}, {1, 1, 4}, {2, 1, 4}, {1, 6, 4}, {3, 2, 8}}) {
    SCOPED_TRACE(::testing::Message() << width << "x" << height << " in cells of " << cell);
    const std::vector<std::byte> blob = cell_upscaler(cell);
    const Rgb image = noise_image(width, height), ours = upscale(blob, image, 0);
    const Rgb whole = upscale(blob, mirrored(image, cell), 0);
    ASSERT_EQ(ours.width, 2 * width);
    ASSERT_EQ(ours.height, 2 * height);
    for (int y = 0; y < ours.height; ++y)
      for (int x = 0; x < ours.width; ++x)
        for (int c = 0; c < 3; ++c) ASSERT_EQ(ours.at(y, x, c), whole.at(y, x, c)) << y << "," << x;
  }
}

TEST(EnhanceInCells, TilesOfAnySizeGiveTheImageOfOnePiece) {
  for (const int cell : {2, 4}) {
    const std::vector<std::byte> blob = cell_upscaler(cell);
    const Rgb image = noise_image(45, 31), whole = upscale(blob, image, 1000);
    for (const int tile : {1, 3, 7, 8, 16, 30})
      EXPECT_EQ(upscale(blob, image, tile).samples, whole.samples) << "tiles of " << tile << ", cells of " << cell;
  }
}

}  // namespace
}  // namespace ferry
