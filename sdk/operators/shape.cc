#include "sdk/operators/shape.h"

#include <cstdio>

namespace ferry {

Words in_words(const Shape& shape) noexcept {
  Words words{"["};
  size_t length = 1;
  for (int i = 0; i < shape.rank; ++i)
    length += static_cast<size_t>(
        std::snprintf(words.text + length, sizeof words.text - length, i > 0 ? ",%d" : "%d", shape[i]));
  std::snprintf(words.text + length, sizeof words.text - length, "]");
  return words;
}

}  // namespace ferry
