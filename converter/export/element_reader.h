// The elements of a checkpoint's tensor as a blob's constants hold them, read in parts: no tensor is widened whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace ferry {

class ElementReader {
 public:
  static constexpr size_t kAtOnce = size_t{1} << 20;  // bytes: a multiple of every element's and block's size
  static constexpr size_t kAtLeast = 64;
  // Reads `size` bytes from byte `at` on; they are valid until the next call.
  using Read = std::function<std::span<const std::byte>(size_t at, size_t size)>;

  ElementReader(size_t bytes, Read read) : bytes_(bytes), read_(std::move(read)) {}

  ElementReader(ElementReader&&) = default;  // a copy's part would be that of the original

  size_t bytes() const { return bytes_; }
  // Some bytes from `at`, the beginning of an element, on: at least kAtLeast, unless fewer are left. They are valid
  // until the next call.
  std::span<const std::byte> from(size_t at) const {
    if (at < begin_ || at + std::min(kAtLeast, bytes_ - at) > begin_ + part_.size()) {
      begin_ = at;
      part_ = read_(at, std::min(kAtOnce, bytes_ - at));
    }
    return part_.subspan(at - begin_);
  }
  // All of them at once.
  std::span<const std::byte> read_all() const { return read_(0, bytes_); }

 private:
  size_t bytes_;
  Read read_;
  mutable std::span<const std::byte> part_;
  mutable size_t begin_ = 0;
};

}  // namespace ferry
