#include "sdk/image/jpeg_check.h"

namespace ferry::image {
namespace {

// Reads bytes in order; zeros past the end, as stb_image does.
class JpegReader {
 public:
  JpegReader(const unsigned char* data, size_t size) : data_(data), size_(size) {}

  bool at_end() const { return at_ >= size_; }
  unsigned byte() { return at_end() ? 0 : data_[at_++]; }
  void skip(int count) { at_ = static_cast<size_t>(count) > size_ - at_ ? size_ : at_ + static_cast<size_t>(count); }

  // The next marker: a byte other than 0xff that follows at least one 0xff. 0 at the end.
  unsigned marker() {
    while (!at_end()) {
      if (byte() != 0xff) continue;
      unsigned m = 0xff;
      while (m == 0xff && !at_end()) m = byte();
      if (m != 0 && m != 0xff) return m;  // 0xff 0x00 is an escaped byte of image data
    }
    return 0;
  }

 private:
  const unsigned char* data_;
  size_t size_;
  size_t at_ = 0;
};

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
    const int high = static_cast<int>(in.byte());
    const int length = (high << 8 | static_cast<int>(in.byte())) - 2;
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
