// Positions of images in a text.
#include "sdk/text/images.h"

#include <gtest/gtest.h>

#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

constexpr int32_t kImage = 9;

std::vector<int32_t> axis(const TokenPlaces& places, size_t of) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < places.size(); ++i) out.push_back(places.axis(of, i));
  return out;
}

std::vector<int32_t> rows(const TokenPlaces& places) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < places.size(); ++i) out.push_back(places.row(i));
  return out;
}

// Two images of different sizes, directly after each other.
TEST(TokenPlaces, OfSeveralImagesInOneText) {
  const ImageGrid images[] = {{2, 3}, {1, 2}};
  const std::vector<int32_t> tokens = {1, 9, 9, 9, 9, 9, 9, 9, 9, 2, 3};
  TokenPlaces places(kImage);
  ASSERT_TRUE(places.append(tokens, images).ok());
  EXPECT_EQ(axis(places, 0), (std::vector<int32_t>{0, 1, 1, 1, 1, 1, 1, 4, 4, 6, 7}));
  EXPECT_EQ(axis(places, 1), (std::vector<int32_t>{0, 1, 1, 1, 2, 2, 2, 4, 4, 6, 7}));
  EXPECT_EQ(axis(places, 2), (std::vector<int32_t>{0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows(places), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0}));
  EXPECT_EQ(places.images(), 2u);

  TokenPlaces apart(kImage);
  for (const int32_t token : tokens) {
    ASSERT_TRUE(apart.append({&token, 1}, images).ok());
    EXPECT_EQ(apart.within_image(), token == kImage && apart.size() != 7 && apart.size() != 9) << apart.size();
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(axis(apart, i), axis(places, i));
}

TEST(TokenPlaces, RefusesMoreThanTheImagesAndTextWithinOne) {
  const ImageGrid image{1, 2};
  const auto message = [&](const std::vector<int32_t>& tokens) {
    TokenPlaces places(kImage);
    const Status status = places.append(tokens, {&image, 1});
    EXPECT_EQ(status.code(), FERRY_INVALID_ARGUMENT);
    return std::string(status.message());
  };
  EXPECT_EQ(message({1, 9, 9, 9}), "token 3, 9, stands for an image, and the text has 1 of them");
  EXPECT_EQ(message({9, 4}), "token 1, 4, stands within image 0, of which 1 of 2 were there");
}

TEST(TokenPlaces, GeneratedTokensAreNoImages) {
  TokenPlaces places(kImage);
  places.append_plain();
  EXPECT_EQ(places.row(0), 0);
  EXPECT_FALSE(places.within_image());
}

// 4 x 6 patches in squares of 2 x 2; the corners of a 3 x 3 position table map to the image's corners.
TEST(PatchPlaces, ComeInSquaresAndStretchTheTable) {
  const PatchPlaces p = patch_places({4, 6}, 2, 3);
  const std::vector<int32_t> first_rows(p.places.begin(), p.places.begin() + 8);
  const std::vector<int32_t> first_columns(p.places.begin() + 24, p.places.begin() + 32);
  EXPECT_EQ(first_rows, (std::vector<int32_t>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(first_columns, (std::vector<int32_t>{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(p.table[0], 0);
  EXPECT_EQ(p.table_weights[0], 1);
  // The last patch is the table's last cell, which has no successor.
  for (size_t corner = 0; corner < 4; ++corner) EXPECT_EQ(p.table[corner * 24 + 23], 8);
  // Row 1 of 4 lies at 2/3, column 1 of 6 at 2/5.
  EXPECT_EQ(p.table[0 * 24 + 3], 0);
  EXPECT_EQ(p.table[3 * 24 + 3], 4);
  EXPECT_FLOAT_EQ(p.table_weights[3 * 24 + 3], 2.0f / 3 * 2 / 5);
  for (size_t at = 0; at < 24; ++at) {
    float sum = 0;
    for (size_t corner = 0; corner < 4; ++corner) sum += p.table_weights[corner * 24 + at];
    EXPECT_FLOAT_EQ(sum, 1) << at;
  }
}

TEST(PatchPlaces, OfOneRowLieInTheFirst) {
  const PatchPlaces p = patch_places({1, 2}, 1, 5);
  EXPECT_EQ(p.table[0], 0);
  EXPECT_EQ(p.table[1], 4);
}

Status read_with(const fbs::ImagesT& images) {
  fbs::TextT text;
  text.images = std::make_unique<fbs::ImagesT>(images);
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishTextBuffer(builder, fbs::Text::Pack(builder, &text));
  const std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const fbs::Text* read = nullptr;
  return read_text(std::as_bytes(std::span(bytes)), &read);
}

TEST(ImagesOfABlob, AreRefusedBeyondTheirBounds) {
  fbs::ImagesT right;
  right.graph = "vision";
  right.token = 9;
  right.start = right.end = -1;
  right.merge = 2;
  right.table_side = 48;
  EXPECT_TRUE(read_with(right).ok());
  const auto wrong = [&](auto change) {
    fbs::ImagesT changed = right;
    change(changed);
    return read_with(changed).code();
  };
  EXPECT_EQ(wrong([](auto& p) {
              p.graph.clear();
              p.merge = 0;
            }),
            FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.merge = 65; }), FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.token = -1; }), FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.start = -2; }), FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.end = INT32_MIN; }), FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.table_side = 0; }), FERRY_CORRUPT);
  EXPECT_EQ(wrong([](auto& p) { p.table_side = 1 << 20; }), FERRY_CORRUPT);
}

}  // namespace
}  // namespace ferry
