#include "sdk/image/jpeg_check.h"

#include "sdk/image/jpeg_reader.h"

namespace ferry::image {
namespace {

// A segment may hold several tables: class and number, 16 counts, then that many values.
bool tables_fit(JpegReader& in, int length) {
  while (length > 0) {
    in.byte();
    int codes = 0;
    for (int i = 0; i < 16; ++i) codes += static_cast<int>(in.byte());
    if (codes > 256) return false;
    in.skip(codes);
    length -= 17 + codes;
  }
  return true;
}

}  // namespace

const char* fault_of_jpeg(const unsigned char* data, size_t size) {
  constexpr unsigned kStart = 0xd8, kEnd = 0xd9, kHuffman = 0xc4, kScan = 0xda, kFirstRestart = 0xd0,
                     kLastRestart = 0xd7;
  int scans = 0;
  JpegReader in(data, size);
  for (unsigned m = in.marker(); m != 0 && m != kEnd; m = in.marker()) {
    if (m == kStart || (m >= kFirstRestart && m <= kLastRestart)) continue;
    const int length = in.segment_bytes();
    if (m == kHuffman) {
      if (!tables_fit(in, length)) return "a Huffman table of more than 256 codes";
    } else if (length > 0) {
      in.skip(length);
    }
    if (m == kScan && ++scans > 100) return "more than 100 scans";
  }
  return nullptr;
}

}  // namespace ferry::image
