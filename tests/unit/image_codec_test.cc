// Image files: reading, refusals with their messages, writing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>

#include "sdk/image/codec.h"
#include "sdk/image/exif.h"
#include "sdk/image/jpeg_check.h"
#include "tests/support/scratch_folder.h"

#define STBIW_ASSERT(x) ((void)0)
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace ferry {
namespace {

using image::Pixels;
using image::View;
using Bytes = std::vector<uint8_t>;

Bytes samples(int width, int height, int channels) {
  Bytes bytes;
  for (int i = 0; i < width * height * channels; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 + i / 11));
  return bytes;
}

Bytes packed(const View& v) {
  Bytes bytes;
  for (int y = 0; y < v.height; ++y) bytes.insert(bytes.end(), v.row(y), v.row(y) + v.width * v.channels);
  return bytes;
}

void append(void* to, void* data, int size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), bytes, bytes + size);
}

Bytes png_file(const Bytes& pixels, int width, int height, int channels) {
  Bytes file;
  stbi_write_png_to_func(append, &file, width, height, channels, pixels.data(), width * channels);
  return file;
}

Status decode(const Bytes& file, Pixels* out) { return image::decode(file.data(), file.size(), "test.png", out); }

TEST(Codec, PngKeepsEveryPixel) {
  const ScratchFolder folder;
  const Bytes pixels = samples(13, 7, 3);
  const std::string path = folder.path() / "out.png";
  Status s = image::save_png({pixels.data(), 13, 7, 3, 39}, path.c_str());
  ASSERT_TRUE(s.ok()) << s.message();
  Pixels out;
  s = image::load(path.c_str(), &out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out.view().width, 13);
  EXPECT_EQ(out.view().height, 7);
  EXPECT_EQ(packed(out.view()), pixels);
}

TEST(Codec, PaddedRowsAreWrittenWithoutTheirPadding) {
  const ScratchFolder folder;
  constexpr int kStride = 3 * 5 + 9;
  const Bytes memory = samples(kStride, 4, 1);
  const View view = {memory.data(), 5, 4, 3, kStride};
  const std::string path = folder.path() / "out.png";
  ASSERT_TRUE(image::save_png(view, path.c_str()).ok());
  Pixels out;
  ASSERT_TRUE(image::load(path.c_str(), &out).ok());
  EXPECT_EQ(packed(out.view()), packed(view));
}

TEST(Codec, TheSuffixSaysTheFormat) {
  const ScratchFolder folder;
  constexpr int kStride = 3 * 16 + 5;
  Bytes memory(kStride * 16, 0);
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16 * 3; ++x) memory[static_cast<size_t>(y * kStride + x)] = static_cast<uint8_t>(3 * x + 2 * y);
  const View view = {memory.data(), 16, 16, 3, kStride};
  const auto begins = [&](const char* name, const char* with) {
    const std::string path = folder.path() / name;
    const Status s = image::save(view, path.c_str());
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(read_text(path).substr(0, std::strlen(with)), with) << name;
    Pixels out;
    ASSERT_TRUE(image::load(path.c_str(), &out).ok());
    const Bytes there = packed(out.view()), here = packed(view);
    ASSERT_EQ(there.size(), here.size());
    for (size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 12) << name << " " << i;
  };
  for (const char* name : {"c.png", "d.PNG", "without", ".hidden"}) begins(name, "\x89PNG");
  for (const char* name : {"a.jpg", "b.JPEG", "e.webp", "f.bmp", "g.png.part"}) {
    const std::string path = folder.path() / name;
    const Status s = image::save(view, path.c_str());
    EXPECT_EQ(s.code(), FERRY_INVALID_ARGUMENT);
    EXPECT_NE(s.message().find("images are written as .png, not as "), std::string::npos) << s.message();
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

// ---- Exif orientation ----------------------------------------------------------------------------------------------

// A JPEG of 32x16 pixels, black except for the top left corner (white) and the top right corner (grey), with `exif`
// after the start marker.
Bytes jpeg_file(const Bytes& exif) {
  constexpr int kWidth = 32, kHeight = 16, kCorner = 8;
  Bytes pixels(kWidth * kHeight * 3, 0);
  for (int y = 0; y < kCorner; ++y) {
    std::fill_n(pixels.begin() + y * kWidth * 3, kCorner * 3, uint8_t{255});
    std::fill_n(pixels.begin() + (y * kWidth + kWidth - kCorner) * 3, kCorner * 3, uint8_t{128});
  }
  Bytes file;
  stbi_write_jpg_to_func(append, &file, kWidth, kHeight, 3, pixels.data(), 95);
  file.insert(file.begin() + 2, exif.begin(), exif.end());
  return file;
}

// The orientation is a short, or in a little-endian file a long.
Bytes exif_contents(uint8_t orientation, bool little, uint8_t type = 3) {
  Bytes tiff = {'I',  'I',  42,   0, 8, 0, 0, 0, 2,           0,        // one directory of two entries
                0x0f, 0x01, 2,    0, 1, 0, 0, 0, 'x',         0, 0, 0,  // the maker
                0x12, 0x01, type, 0, 1, 0, 0, 0, orientation, 0, 0, 0,  // the orientation
                0,    0,    0,    0};
  if (!little)
    tiff = {'M', 'M', 0, 42,   0,    0, 0, 8, 0, 2, 0x01, 0x0f, 0,           2, 0, 0, 0, 1, 'x',
            0,   0,   0, 0x01, 0x12, 0, 3, 0, 0, 0, 1,    0,    orientation, 0, 0, 0, 0, 0, 0};
  return tiff;
}

const Bytes kExifName = {'E', 'x', 'i', 'f', 0, 0};

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes exif_segment(const Bytes& contents) {
  return joined({{0xff, 0xe1, 0, static_cast<uint8_t>(8 + contents.size())}, kExifName, contents});
}

Bytes exif_segment(uint8_t orientation, bool little) { return exif_segment(exif_contents(orientation, little)); }

// A PNG of 3x2 pixels of the levels 10, 20, ... 60 with an eXIf chunk before or after the image data.
Bytes png_with_exif(const Bytes& contents, bool after_data) {
  Bytes file = png_file({10, 20, 30, 40, 50, 60}, 3, 2, 1);
  const Bytes chunk =
      joined({{0, 0, 0, static_cast<uint8_t>(contents.size()), 'e', 'X', 'I', 'f'}, contents, Bytes(4, 0)});
  constexpr ptrdiff_t kHeaderEnd = 8 + 25, kLastChunk = 12;
  file.insert(after_data ? file.end() - kLastChunk : file.begin() + kHeaderEnd, chunk.begin(), chunk.end());
  return file;
}

int orientation_of(const Bytes& file) { return image::exif_orientation(file.data(), file.size()); }

// The corner with that level, such as "TL" (top left); "" if there is none.
std::string corner_of(const View& v, int level) {
  std::string found;
  for (const bool bottom : {false, true}) {
    for (const bool right : {false, true}) {
      const uint8_t* pixel = v.row(bottom ? v.height - 4 : 3) + 3 * (right ? v.width - 4 : 3);
      if (std::abs(*pixel - level) < 20) found += std::string(bottom ? "B" : "T") + (right ? "R" : "L");
    }
  }
  return found;
}

TEST(Exif, EveryOrientationIsRotatedUpright) {
  // The corners where the standard displays row 0 and column 0 of the stored image.
  const char* white[] = {"TL", "TR", "BR", "BL", "TL", "TR", "BR", "BL"};
  const char* grey[] = {"TR", "TL", "BL", "BR", "BL", "BR", "TR", "TL"};
  for (const bool little : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      SCOPED_TRACE(orientation);
      Pixels out;
      const Status s = decode(jpeg_file(exif_segment(static_cast<uint8_t>(orientation), little)), &out);
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(out.view().width, orientation < 5 ? 32 : 16);
      EXPECT_EQ(out.view().height, orientation < 5 ? 16 : 32);
      EXPECT_EQ(corner_of(out.view(), 255), white[orientation - 1]);
      EXPECT_EQ(corner_of(out.view(), 128), grey[orientation - 1]);
    }
  }
}

TEST(Exif, ALongAndPaddingBeforeAMarkerAreRead) {
  const Bytes segment = exif_segment(exif_contents(6, true, 4));
  EXPECT_EQ(orientation_of(jpeg_file(segment)), 6);
  EXPECT_EQ(orientation_of(jpeg_file(joined({{0xff, 0xff, 0xff}, segment}))), 6);
  const Bytes comment = {0xff, 0xfe, 0, 4, 'h', 'i'};
  EXPECT_EQ(orientation_of(jpeg_file(joined({comment, {0xff}, segment}))), 6);
}

// Pixels in row-major order of each orientation's upright image, by the standard's definition.
TEST(Exif, OfAPngIsApplied) {
  const Bytes upright[] = {{10, 20, 30, 40, 50, 60}, {30, 20, 10, 60, 50, 40}, {60, 50, 40, 30, 20, 10},
                           {40, 50, 60, 10, 20, 30}, {10, 40, 20, 50, 30, 60}, {40, 10, 50, 20, 60, 30},
                           {60, 30, 50, 20, 40, 10}, {30, 60, 20, 50, 10, 40}};
  for (const bool little : {false, true}) {
    for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
      SCOPED_TRACE(int{orientation});
      const Bytes contents = exif_contents(orientation, little);
      for (const Bytes& file : {png_with_exif(contents, false), png_with_exif(contents, true),
                                png_with_exif(joined({kExifName, contents}), false)}) {
        Pixels out;
        const Status s = decode(file, &out);
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_EQ(out.view().width, orientation < 5 ? 3 : 2);
        Bytes levels;
        for (size_t i = 0; i < packed(out.view()).size(); i += 3) levels.push_back(packed(out.view())[i]);
        EXPECT_EQ(levels, upright[orientation - 1]);
      }
    }
  }
}

TEST(Exif, ADamagedPngIsReadToItsEndOnly) {
  Bytes file = png_with_exif(exif_contents(6, true), true);
  EXPECT_EQ(orientation_of(file), 6);
  for (size_t size = 1; size + 12 < file.size(); ++size)
    EXPECT_EQ(image::exif_orientation(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)).data(), size), 1)
        << size;
  file[8] = 0xff;  // a length beyond the file
  EXPECT_EQ(orientation_of(file), 1);
}

TEST(Exif, InvalidDataLeavesTheImageUnchanged) {
  for (const uint8_t orientation : {uint8_t{0}, uint8_t{9}, uint8_t{255}}) {
    const Bytes file = jpeg_file(exif_segment(orientation, true));
    EXPECT_EQ(image::exif_orientation(file.data(), file.size()), 1);
  }
  const Bytes whole = jpeg_file(exif_segment(6, true));
  EXPECT_EQ(image::exif_orientation(whole.data(), whole.size()), 6);
  const size_t end = 2 + exif_segment(6, true).size();
  for (size_t size = 0; size < end; ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(image::exif_orientation(cut.data(), cut.size()), 1) << size;
  }
  const Bytes plain = jpeg_file({});
  EXPECT_EQ(image::exif_orientation(plain.data(), plain.size()), 1);
}

TEST(Codec, GreyBecomesRgb) {
  Pixels out;
  ASSERT_TRUE(decode(png_file({10, 200}, 2, 1, 1), &out).ok());
  EXPECT_EQ(packed(out.view()), (Bytes{10, 10, 10, 200, 200, 200}));
}

TEST(Codec, AlphaIsDroppedAndColoursStay) {
  Pixels out;
  ASSERT_TRUE(decode(png_file({1, 2, 3, 0, 4, 5, 6, 128}, 2, 1, 4), &out).ok());
  EXPECT_EQ(packed(out.view()), (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(Codec, BmpIsReadFromItsLastRowUp) {
  const uint8_t file[] = {'B', 'M', 70, 0, 0,  0, 0, 0, 0, 0, 54, 0,  0,  0,  // file header
                          40,  0,   0,  0, 2,  0, 0, 0, 2, 0, 0,  0,  1,  0,  24, 0,
                          0,   0,   0,  0, 16, 0, 0, 0,                                // 2x2, 24 bits
                          0,   0,   0,  0, 0,  0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,   // resolution
                          3,   2,   1,  6, 5,  4, 0, 0, 9, 8, 7,  12, 11, 10, 0,  0};  // BGR, lower row first
  Pixels out;
  const Status s = image::decode(file, sizeof file, "test.bmp", &out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(packed(out.view()), (Bytes{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
}

Bytes jpeg_file(const Bytes& pixels, int width, int height) {
  Bytes file;
  stbi_write_jpg_to_func(append, &file, width, height, 3, pixels.data(), 95);
  return file;
}

TEST(Codec, JpegIsNear) {
  Pixels out;
  ASSERT_TRUE(decode(jpeg_file(Bytes(16 * 16 * 3, 120), 16, 16), &out).ok());
  for (uint8_t level : packed(out.view())) EXPECT_NEAR(level, 120, 2);
}

TEST(Codec, AnotherFormatIsNamedAsNotAnImage) {
  Pixels out;
  const Status s = image::decode("GIF89a..", 8, "cat.gif", &out);
  EXPECT_EQ(s.code(), FERRY_NOT_AN_IMAGE);
  EXPECT_EQ(s.message(), "cat.gif is a GIF image, expected JPEG, PNG or BMP");
  EXPECT_EQ(image::decode("RIFF....WEBPVP8 ", 16, "cat", &out).message(),
            "cat is a WebP image, expected JPEG, PNG or BMP");
  EXPECT_EQ(image::decode("notes", 5, "notes", &out).message(), "notes is not a JPEG, PNG or BMP image");
  EXPECT_EQ(image::decode("", 0, "empty", &out).code(), FERRY_NOT_AN_IMAGE);
}

TEST(Codec, AnImageCutAtAnyByteIsRefusedOrReadButNeverCrashes) {
  const Bytes file = png_file(samples(9, 9, 3), 9, 9, 3);
  int refused = 0;
  for (size_t n = 0; n < file.size(); ++n) {
    Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    Pixels out;
    refused += !decode(cut, &out).ok();
  }
  EXPECT_GT(refused, static_cast<int>(file.size()) - 20);
  Bytes half(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
  Pixels out;
  const Status s = decode(half, &out);
  EXPECT_EQ(s.code(), FERRY_IMAGE_DAMAGED);
  EXPECT_EQ(s.message().substr(0, 24), "test.png: damaged image ") << s.message();
}

// Truncation within the headers is always detected; within the coded data, the decoder may fill up the rest.
TEST(Codec, ATruncatedJpegIsADamagedImage) {
  const Bytes file = jpeg_file(samples(32, 32, 3), 32, 32);
  const uint8_t scan[] = {0xff, 0xda};
  const auto coded = std::search(file.begin(), file.end(), scan, scan + 2);
  ASSERT_NE(coded, file.end());
  for (const std::ptrdiff_t kept : {std::ptrdiff_t{4}, (coded - file.begin()) / 2, coded - file.begin()}) {
    Pixels out;
    const Status s = decode(Bytes(file.begin(), file.begin() + kept), &out);
    EXPECT_EQ(s.code(), FERRY_IMAGE_DAMAGED) << kept << ": " << s.message();
    EXPECT_EQ(s.message().substr(0, 24), "test.png: damaged image ") << s.message();
  }
  for (auto end = coded; end != file.end(); ++end) {
    Pixels out;
    const Status s = decode(Bytes(file.begin(), end), &out);
    EXPECT_TRUE(s.ok() || s.code() == FERRY_IMAGE_DAMAGED) << s.message();
  }
}

TEST(Codec, AHuffmanTableThatStbWouldOverrunIsRefused) {
  Bytes file = jpeg_file(samples(16, 16, 3), 16, 16);
  Pixels out;
  ASSERT_TRUE(decode(file, &out).ok());
  const uint8_t marker[] = {0xff, 0xc4};
  const auto table = std::search(file.begin(), file.end(), marker, marker + 2);
  ASSERT_NE(table, file.end());
  std::fill_n(table + 5, 16, uint8_t{17});  // 272 codes
  const Status s = decode(file, &out);
  EXPECT_EQ(s.code(), FERRY_IMAGE_DAMAGED);
  EXPECT_EQ(s.message(), "test.png: damaged image (a Huffman table of more than 256 codes)");
}

TEST(Codec, AHuffmanTableBehindFillBytesAndOtherSegmentsIsSeenToo) {
  const Bytes start = {0xff, 0xd8, 0xff, 0xe0, 0, 4, 0xff, 0xd9};  // a segment that contains bytes like an end marker
  const Bytes table = joined({{0xff, 0xff, 0xff, 0xc4, 1, 200, 0}, Bytes(16, 17)});
  Bytes file = joined({start, table});
  EXPECT_NE(image::fault_of_jpeg(file.data(), file.size()), nullptr);
  const Bytes coded = {0xff, 0xda, 0, 2, 1, 2, 0xff, 0x00, 3};
  file = joined({start, coded, table});
  EXPECT_NE(image::fault_of_jpeg(file.data(), file.size()), nullptr);
}

TEST(Codec, ManyScansAreRefused) {
  const Bytes scan = {0xff, 0xda, 0, 2, 1};
  Bytes file = {0xff, 0xd8, 0xff, 0xe0, 0, 2};
  for (int i = 0; i < 100; ++i) file.insert(file.end(), scan.begin(), scan.end());
  EXPECT_EQ(image::fault_of_jpeg(file.data(), file.size()), nullptr);
  file.insert(file.end(), scan.begin(), scan.end());
  EXPECT_STREQ(image::fault_of_jpeg(file.data(), file.size()), "more than 100 scans");
}

// 4 MB of zeros instead of four pixels: the 2x2 image is decoded as its header says, or refused.
TEST(Codec, APngThatInflatesBeyondItsHeaderIsBounded) {
  Bytes zeros(size_t{4} << 20, 0);
  int length = 0;
  unsigned char* const deflated = stbi_zlib_compress(zeros.data(), static_cast<int>(zeros.size()), &length, 8);
  Bytes file = png_file(samples(2, 2, 3), 2, 2, 3);
  const uint8_t name[] = {'I', 'D', 'A', 'T'};
  const auto chunk = std::search(file.begin(), file.end(), name, name + 4);
  ASSERT_NE(chunk, file.end());
  const size_t at = static_cast<size_t>(chunk - file.begin());
  const uint32_t before = static_cast<uint32_t>(file[at - 2] << 8 | file[at - 1]);
  for (int i = 0; i < 4; ++i) file[at - 4 + static_cast<size_t>(i)] = static_cast<uint8_t>(length >> (24 - 8 * i));
  file.erase(file.begin() + static_cast<std::ptrdiff_t>(at + 4),
             file.begin() + static_cast<std::ptrdiff_t>(at + 4 + before));
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(at + 4), deflated, deflated + length);
  STBIW_FREE(deflated);
  Pixels out;
  const Status s = decode(file, &out);
  EXPECT_EQ(s.code(), FERRY_IMAGE_DAMAGED);
  EXPECT_NE(s.message().find("more than its header says"), std::string::npos) << s.message();
}

TEST(Codec, MutatedImagesAreRefusedOrReadButNeverCrash) {
  int refused = 0;
  for (const Bytes& file : {jpeg_file(samples(24, 17, 3), 24, 17), png_file(samples(9, 9, 4), 9, 9, 4)}) {
    uint32_t state = 1;
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (int i = 0; i < 1500; ++i) {
      Bytes mutant = file;
      for (uint32_t n = 1 + next() % 6; n > 0; --n) mutant[next() % mutant.size()] = static_cast<uint8_t>(next());
      Pixels out;
      refused += !decode(mutant, &out).ok();
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Codec, AHeaderThatPromisesTooManyPixelsIsRefusedBeforeAnyIsAllocated) {
  Bytes file = png_file(samples(2, 2, 3), 2, 2, 3);
  const uint8_t sides[8] = {0, 0, 0x4e, 0x20, 0, 0, 0x3e, 0x80};  // each side alone is allowed, but not the area
  std::memcpy(&file[16], sides, 8);
  Pixels out;
  const Status s = decode(file, &out);
  EXPECT_EQ(s.code(), FERRY_IMAGE_TOO_LARGE);
  EXPECT_NE(s.message().find("20000x16000"), std::string::npos) << s.message();
  const uint8_t square[8] = {0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20};  // exceeds stb's own limit
  std::memcpy(&file[16], square, 8);
  const Status more = decode(file, &out);
  EXPECT_EQ(more.code(), FERRY_IMAGE_TOO_LARGE);
  EXPECT_NE(more.message().find("20000x20000"), std::string::npos) << more.message();
}

TEST(Codec, MissingFilesAndFoldersAreNamed) {
  Pixels out;
  Status s = image::load("/nonexistent/cat.jpg", &out);
  EXPECT_EQ(s.code(), FERRY_IO_ERROR);
  EXPECT_EQ(s.message(), "cannot open /nonexistent/cat.jpg: No such file or directory");
  const ScratchFolder folder;
  s = image::load(folder.path().c_str(), &out);
  EXPECT_EQ(s.code(), FERRY_IO_ERROR);
}

TEST(Codec, AnUnwritablePlaceIsNamedAndNothingIsLeftThere) {
  const ScratchFolder folder;
  const Bytes pixels = samples(2, 2, 3);
  const View view = {pixels.data(), 2, 2, 3, 6};
  const std::string missing = folder.path() / "no" / "out.png";
  const Status s = image::save_png(view, missing.c_str());
  EXPECT_EQ(s.code(), FERRY_IO_ERROR);
  EXPECT_NE(s.message().find(missing), std::string::npos) << s.message();
  // A folder of that name makes the rename fail.
  const auto taken = folder.path() / "taken.png";
  std::filesystem::create_directory(taken);
  EXPECT_EQ(image::save_png(view, taken.c_str()).code(), FERRY_IO_ERROR);
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++entries;
  EXPECT_EQ(entries, 1);
}

}  // namespace
}  // namespace ferry
