// The markers of a JPEG file.
#pragma once

#include <cstddef>

namespace ferry::image {

// Reads bytes in order; zeros past the end, as stb_image does.
class JpegReader {
 public:
  JpegReader(const unsigned char* data, size_t size) : data_(data), size_(size) {}

  bool at_end() const { return at_ >= size_; }
  size_t position() const { return at_; }
  unsigned byte() { return at_end() ? 0 : data_[at_++]; }
  void skip(int count) { at_ = static_cast<size_t>(count) > size_ - at_ ? size_ : at_ + static_cast<size_t>(count); }

  // The next marker: a byte other than 0xff that follows at least one 0xff (more are padding). 0 at the end.
  unsigned marker() {
    while (!at_end()) {
      if (byte() != 0xff) continue;
      unsigned m = 0xff;
      while (m == 0xff && !at_end()) m = byte();
      if (m != 0 && m != 0xff) return m;  // 0xff 0x00 is an escaped byte of image data
    }
    return 0;
  }

  // Bytes of the segment after its length field; below zero if the length field is damaged.
  int segment_bytes() {
    const int high = static_cast<int>(byte());
    return (high << 8 | static_cast<int>(byte())) - 2;
  }

 private:
  const unsigned char* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace ferry::image
