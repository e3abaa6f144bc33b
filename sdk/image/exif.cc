#include "sdk/image/exif.h"

#include <cstring>

#include "sdk/image/jpeg_reader.h"

namespace ferry::image {
namespace {

// Bytes in the byte order of their TIFF header; zeros past the end.
struct Tiff {
  const unsigned char* data;
  size_t size;
  bool little = false;

  unsigned at(size_t i) const { return i < size ? data[i] : 0; }
  unsigned u16(size_t i) const { return little ? at(i + 1) << 8 | at(i) : at(i) << 8 | at(i + 1); }
  size_t u32(size_t i) const { return little ? size_t{u16(i + 2)} << 16 | u16(i) : size_t{u16(i)} << 16 | u16(i + 2); }
};

// Entry 0x0112 of the first directory: a short or a long, stored in the entry itself.
int orientation_of(Tiff tiff) {
  constexpr unsigned kOrientation = 0x0112, kShort = 3, kLong = 4;
  constexpr size_t kEntryBytes = 12;
  tiff.little = tiff.at(0) == 'I';
  if (tiff.u16(2) != 42) return 1;
  const size_t directory = tiff.u32(4);
  const unsigned entries = tiff.u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    const unsigned type = tiff.u16(entry + 2);
    if (tiff.u16(entry) != kOrientation || (type != kShort && type != kLong)) continue;
    const size_t value = type == kShort ? tiff.u16(entry + 8) : tiff.u32(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// What follows "Exif", which JPEG requires and some writers of PNG put first as well.
const unsigned char* after_name(const unsigned char* data, size_t size) {
  constexpr size_t kNameBytes = 6;
  return size >= kNameBytes && std::memcmp(data, "Exif\0", kNameBytes) == 0 ? data + kNameBytes : nullptr;
}

int orientation_of_jpeg(const unsigned char* data, size_t size) {
  constexpr unsigned kStart = 0xd8, kExif = 0xe1, kScan = 0xda;
  JpegReader in(data, size);
  for (unsigned m = in.marker(); m != 0 && m != kScan; m = in.marker()) {
    if (m == kStart) continue;
    const int bytes = in.segment_bytes();
    if (bytes <= 0) continue;
    const unsigned char* segment = data + in.position();
    const auto length = static_cast<size_t>(bytes);
    if (length > size - in.position()) return 1;
    const unsigned char* exif = m == kExif ? after_name(segment, length) : nullptr;
    if (exif) return orientation_of({exif, static_cast<size_t>(segment + length - exif)});
    in.skip(bytes);
  }
  return 1;
}

// Chunks: length, type, contents, checksum. An eXIf chunk may follow the image data.
int orientation_of_png(const unsigned char* data, size_t size) {
  constexpr size_t kSignature = 8, kHeader = 8, kChecksum = 4;
  const Tiff png{data, size};
  for (size_t at = kSignature; at + kHeader + kChecksum <= size;) {
    const size_t bytes = png.u32(at);
    const unsigned char *type = data + at + 4, *contents = data + at + kHeader;
    if (bytes > size - at - kHeader - kChecksum) return 1;
    if (std::memcmp(type, "eXIf", 4) == 0) {
      const unsigned char* named = after_name(contents, bytes);
      return orientation_of({named ? named : contents, bytes - (named ? static_cast<size_t>(named - contents) : 0)});
    }
    at += kHeader + bytes + kChecksum;
  }
  return 1;
}

}  // namespace

int exif_orientation(const unsigned char* data, size_t size) {
  return size > 0 && *data == 0x89 ? orientation_of_png(data, size) : orientation_of_jpeg(data, size);
}

Status make_upright(int orientation, Pixels* image) {
  if (orientation <= 1) return {};
  const View from = image->view();
  // Orientations 5 to 8 exchange rows and columns.
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Pixels upright;
  FERRY_TRY(upright.allocate(turned ? from.height : from.width, turned ? from.width : from.height, from.channels));
  const View to = upright.view();
  const auto pixel = static_cast<size_t>(from.channels);
  for (int y = 0; y < to.height; ++y) {
    uint8_t* out = upright.row(y);
    for (int x = 0; x < to.width; ++x, out += pixel) {
      const int column = turned ? y : x, row = turned ? x : y;
      const uint8_t* in = from.row(from_below ? from.height - 1 - row : row);
      std::memcpy(out, in + static_cast<size_t>(from_right ? from.width - 1 - column : column) * pixel, pixel);
    }
  }
  *image = static_cast<Pixels&&>(upright);
  return {};
}

}  // namespace ferry::image
