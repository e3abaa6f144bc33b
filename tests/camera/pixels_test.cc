// Images for display: conversion to RGB by definition, drawn answers, JPEG.
#include "examples/camera-linux/pixels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/frames.h"

namespace camera {
namespace {

using ferry::testing::OwnFrame;

constexpr ferry_frame_format kFormats[] = {FERRY_FRAME_YUV420, FERRY_FRAME_NV12, FERRY_FRAME_NV21,
                                           FERRY_FRAME_P010,   FERRY_FRAME_YUY2, FERRY_FRAME_RGBA,
                                           FERRY_FRAME_BGRA,   FERRY_FRAME_RGB,  FERRY_FRAME_GRAY};

void expect_as_defined(const OwnFrame& own, int tolerance) {
  ferry::Frame frame;
  static_cast<ferry_frame&>(frame) = own.frame;
  ferry::Result<Pixels> pixels = rgb_of(frame);
  ASSERT_TRUE(pixels) << pixels.error();
  const ferry::testing::Image seen = own.seen();
  ASSERT_EQ(pixels->width, seen.width);
  ASSERT_EQ(pixels->height, seen.height);
  for (int y = 0; y < seen.height; ++y)
    for (int x = 0; x < seen.width; ++x)
      for (int c = 0; c < 3; ++c)
        ASSERT_LE(std::fabs(seen.at(x, y, c) - pixels->at(x, y)[c]), tolerance) << x << "," << y << " channel " << c;
}

TEST(Pixels, MatchTheirFormatsDefinition) {
  for (const ferry_frame_format format : kFormats) {
    for (const ferry_yuv_range range : {FERRY_RANGE_FULL, FERRY_RANGE_LIMITED}) {
      for (const ferry_yuv_matrix matrix : {FERRY_MATRIX_BT601, FERRY_MATRIX_BT709, FERRY_MATRIX_BT2020}) {
        SCOPED_TRACE(ferry::testing::name_of(format) + " " + std::to_string(range) + " " + std::to_string(matrix));
        OwnFrame own(format, 19, 13, OwnFrame::Contents::Noise, true);
        own.frame.range = range;
        own.frame.matrix = matrix;
        // P010's lower two bits are ignored.
        expect_as_defined(own, format == FERRY_FRAME_P010 ? 5 : 1);
      }
    }
  }
}

TEST(Pixels, AreUpright) {
  OwnFrame own(FERRY_FRAME_NV12, 18, 12, OwnFrame::Contents::Image, true);
  for (const int rotation : {0, 90, 180, 270}) {
    for (const bool mirror : {false, true}) {
      SCOPED_TRACE(std::to_string(rotation) + (mirror ? " mirrored" : ""));
      own.frame.rotation = rotation;
      own.frame.mirror = mirror;
      expect_as_defined(own, 1);
    }
  }
}

Pixels grey_image(int width, int height) {
  Pixels image(width, height);
  for (uint8_t& level : image.bytes) level = 100;
  return image;
}

TEST(Drawing, DarkensWhatAMaskDoesNotCover) {
  const uint8_t mask[] = {255, 0};
  ferry::Answer answer;
  answer.kind = FERRY_ANSWER_MASK;
  answer.width = 2, answer.height = 1;
  answer.mask = mask;
  ferry::Result<Pixels> drawn = draw(answer, grey_image(2, 1));
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->at(0, 0)[0], 100);
  EXPECT_EQ(drawn->at(1, 0)[0], 25);
}

TEST(Drawing, LaysColoursOfClassesOverTheImage) {
  const uint16_t labels[] = {0, 3};
  ferry::Answer answer;
  answer.kind = FERRY_ANSWER_LABELS;
  answer.width = 2, answer.height = 1;
  answer.labels = labels;
  ferry::Result<Pixels> drawn = draw(answer, grey_image(2, 1));
  ASSERT_TRUE(drawn);
  for (int x = 0; x < 2; ++x)
    for (int c = 0; c < 3; ++c) {
      const uint32_t colour = ferry_label_colour(labels[x]) >> (16 - 8 * c) & 0xff;
      EXPECT_EQ(drawn->at(x, 0)[c], (100 + colour) / 2);
    }
}

TEST(Drawing, PutsDepthBesideTheImageTheNearestBright) {
  const float values[] = {1, 2, 3, std::nanf("")};
  ferry::Answer answer;
  answer.kind = FERRY_ANSWER_MAP;
  answer.width = 4, answer.height = 1;
  answer.map = values;
  answer.minimum = 1, answer.maximum = 3;
  for (const ferry_sense sense : {FERRY_SENSE_NEARNESS, FERRY_SENSE_METRES}) {
    answer.sense = sense;
    ferry::Result<Pixels> drawn = draw(answer, grey_image(4, 1));
    ASSERT_TRUE(drawn);
    ASSERT_EQ(drawn->width, 8);
    EXPECT_EQ(drawn->at(3, 0)[0], 100);
    const int nearest = sense == FERRY_SENSE_METRES ? 4 : 6, farthest = 10 - nearest;
    EXPECT_EQ(drawn->at(nearest, 0)[1], 255);
    EXPECT_EQ(drawn->at(farthest, 0)[1], 0);
    EXPECT_GT(drawn->at(5, 0)[0], drawn->at(farthest, 0)[0]);
    EXPECT_EQ(drawn->at(7, 0)[1], 0);  // NaN is drawn as farthest
  }
}

TEST(Drawing, FramesBoxes) {
  ferry_detection detection{};
  detection.box = {4, 4, 15, 15};
  detection.label = "";
  ferry::Answer answer;
  answer.kind = FERRY_ANSWER_BOXES;
  answer.boxes = &detection;
  answer.box_count = 1;
  ferry::Result<Pixels> drawn = draw(answer, grey_image(20, 20));
  ASSERT_TRUE(drawn);
  EXPECT_NE(std::vector<uint8_t>(drawn->at(4, 8), drawn->at(4, 8) + 3), std::vector<uint8_t>(3, 100));
  EXPECT_EQ(std::vector<uint8_t>(drawn->at(9, 9), drawn->at(9, 9) + 3), std::vector<uint8_t>(3, 100));
}

TEST(Jpegs, SurviveARoundTrip) {
  Pixels image(40, 30);
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 40; ++x) {
      uint8_t* pixel = image.at(x, y);
      pixel[0] = static_cast<uint8_t>(5 * x), pixel[1] = static_cast<uint8_t>(6 * y), pixel[2] = 90;
    }
  ferry::Result<std::string> jpeg = encode_jpeg(image);
  ASSERT_TRUE(jpeg) << jpeg.error();
  std::string padded = *jpeg + std::string(100, '\0');  // like the buffers of some cameras
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  ferry::Result<Pixels> again = decode_jpeg(bytes(padded));
  ASSERT_TRUE(again) << again.error();
  ASSERT_EQ(again->width, 40);
  ASSERT_EQ(again->height, 30);
  double sum = 0;
  for (size_t i = 0; i < image.bytes.size(); ++i) sum += std::abs(image.bytes[i] - again->bytes[i]);
  EXPECT_LT(sum / static_cast<double>(image.bytes.size()), 3);
  // Another decoder gets the same.
  ferry::Result<ferry::Image> other = ferry::Image::decode(jpeg->data(), jpeg->size());
  ASSERT_TRUE(other) << other.error();
  EXPECT_EQ(other->width(), 40);

  for (const size_t kept : {size_t{0}, size_t{1}, size_t{20}, jpeg->size() / 2, jpeg->size() - 2}) {
    ferry::Result<Pixels> cut = decode_jpeg(bytes(jpeg->substr(0, kept)));
    EXPECT_FALSE(cut) << kept;
    EXPECT_EQ(cut.code(), FERRY_IMAGE_DAMAGED) << kept;
    EXPECT_TRUE(cut.error().starts_with("not a whole JPEG: ")) << cut.error();
  }
}

// USB cameras omit the standard tables (Annex K).
TEST(Jpegs, WithoutHuffmanTablesAreRead) {
  ferry::Result<std::string> jpeg = encode_jpeg(grey_image(16, 16));
  ASSERT_TRUE(jpeg);
  std::string bare = *jpeg;
  for (size_t at; (at = bare.find("\xff\xc4")) != std::string::npos;) {
    const auto high = static_cast<unsigned char>(bare[at + 2]), low = static_cast<unsigned char>(bare[at + 3]);
    bare.erase(at, size_t{2} + high * 256 + low);
  }
  ASSERT_LT(bare.size() + 300, jpeg->size());
  ferry::Result<Pixels> pixels = decode_jpeg(std::span(reinterpret_cast<const uint8_t*>(bare.data()), bare.size()));
  ASSERT_TRUE(pixels) << pixels.error();
  EXPECT_NEAR(pixels->at(8, 8)[0], 100, 2);
}

}  // namespace
}  // namespace camera
