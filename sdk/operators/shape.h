// A tensor's shape: up to FERRY_MAX_RANK dimensions, each at least 1, whose product fits 62 bits.
#pragma once

#include <ferry/ferry.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

// Maximum number of elements of a tensor, far above any network's. With 32-bit addresses it leaves room for what
// operators store beside a tensor: weights packed in rows of 8, Winograd's 36 values for 16.
#if SIZE_MAX > UINT32_MAX
#define FERRY_MAX_ELEMENTS "2^40"
#else
#define FERRY_MAX_ELEMENTS "2^26"
#endif

namespace ferry {

// FERRY_MAX_ELEMENTS as a number
inline constexpr int64_t kMaxElements = int64_t{1} << (SIZE_MAX > UINT32_MAX ? 40 : 26);

struct Shape {
  int rank = 0;
  std::array<int32_t, FERRY_MAX_RANK> dims{};

  Shape() = default;
  Shape(std::initializer_list<int32_t> list) {
    for (int32_t d : list) dims[static_cast<size_t>(rank++)] = d;
  }

  int32_t& operator[](int i) { return dims[static_cast<size_t>(i)]; }
  int32_t operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  bool operator==(const Shape&) const = default;

  // Product of all dimensions; 1 for a scalar.
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[static_cast<size_t>(i)];
    return n;
  }
};

// A short text for messages, without allocation.
struct Words {
  char text[96];
  const char* c_str() const noexcept { return text; }
};

// For example "[1,224,224,3]".
Words in_words(const Shape& shape) noexcept;
inline std::string to_string(const Shape& shape) { return in_words(shape).text; }

}  // namespace ferry
