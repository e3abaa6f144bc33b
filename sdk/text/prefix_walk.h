// Searches sorted strings by prefix: the strings that begin with the bytes so far are a range, which each byte narrows.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry {

// `at(i)` is the i-th string. Unsorted lists are safe, but matches are missed.
template <typename At>
class PrefixWalk {
 public:
  PrefixWalk(uint32_t size, At at) : end_(size), at_(at) {}

  // Adds a byte; false: no string has this prefix.
  bool take(char byte) {
    const auto wanted = static_cast<uint8_t>(byte);
    begin_ = bound(begin_, end_, wanted);
    end_ = bound(begin_, end_, wanted + 1);
    ++depth_;
    return begin_ < end_;
  }
  bool take(std::string_view bytes) {
    for (const char byte : bytes)
      if (!take(byte)) return false;
    return true;
  }
  // Whether the prefix is a complete string.
  bool ends() const { return begin_ < end_ && at_(begin_).size() == depth_; }
  // The index of that string, the last of equal ones, if ends().
  uint32_t index() const { return bound(begin_, end_, 0) - 1; }

 private:
  // The first string in the range whose byte at depth_ is at least `wanted`; the end of a string sorts before every
  // byte.
  uint32_t bound(uint32_t low, uint32_t high, int wanted) const {
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      const std::string_view text = at_(middle);
      if (text.size() > depth_ && static_cast<uint8_t>(text[depth_]) >= wanted)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  uint32_t begin_ = 0, end_;
  size_t depth_ = 0;
  At at_;
};

}  // namespace ferry
