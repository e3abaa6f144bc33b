// Sorted strings as a tree of prefixes: those that begin with the bytes taken so far are a range, which every byte
// narrows.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry {

// `at(i)` is the i-th string. Lists that are not in order are searched as safely, and in vain.
template <typename At>
class PrefixWalk {
 public:
  PrefixWalk(uint32_t size, At at) : end_(size), at_(at) {}

  // Takes a byte; false: no string goes on like this.
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
  // Is what was taken a whole string?
  bool ends() const { return begin_ < end_ && at_(begin_).size() == depth_; }
  // Which one, the last of equal ones, where ends().
  uint32_t index() const { return bound(begin_, end_, 0) - 1; }

 private:
  // The first string between whose byte at depth_ is at least `wanted`; the end of a string comes before every byte.
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
