#include "sdk/image/exif.h"

#include <cstring>

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

// Entry 0x0112 of the first directory: a short, stored in the entry itself.
int orientation_of(Tiff tiff) {
  constexpr unsigned kOrientation = 0x0112, kShort = 3;
  constexpr size_t kEntryBytes = 12;
  tiff.little = tiff.at(0) == 'I';
  if (tiff.u16(2) != 42) return 1;
  const size_t directory = tiff.u32(4);
  const unsigned entries = tiff.u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.u16(entry) != kOrientation || tiff.u16(entry + 2) != kShort) continue;
    const unsigned value = tiff.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(const unsigned char* data, size_t size) {
  constexpr unsigned kExif = 0xe1, kScan = 0xda;
  constexpr size_t kNameBytes = 6;
  const Tiff jpeg{data, size};
  // Segments between the start marker and the image data: marker, length (which includes its own two bytes), contents.
  for (size_t at = 2; jpeg.at(at) == 0xff && jpeg.at(at + 1) != kScan; at += 2 + jpeg.u16(at + 2)) {
    const size_t contents = at + 4, bytes = jpeg.u16(at + 2);
    if (jpeg.at(at + 1) != kExif || bytes < 2 + kNameBytes || contents + bytes - 2 > size) continue;
    if (std::memcmp(data + contents, "Exif\0", kNameBytes) != 0) continue;
    return orientation_of({data + contents + kNameBytes, bytes - 2 - kNameBytes});
  }
  return 1;
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
