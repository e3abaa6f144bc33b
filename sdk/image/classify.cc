#include "sdk/image/classify.h"

#include <cmath>

namespace ferry::image {
namespace {

bool better(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a > b; }

}  // namespace

void top_classes(const float* logits, size_t n, Classes kind, ferry_class* classes, size_t count) {
  if (count > n) count = n;
  // Insertion into a sorted list: `count` is small.
  size_t filled = 0;
  for (size_t i = 0; i < n; ++i) {
    size_t place = filled;
    while (place > 0 && better(logits[i], logits[classes[place - 1].index])) --place;
    if (place == count) continue;
    if (filled < count) ++filled;
    for (size_t k = filled - 1; k > place; --k) classes[k] = classes[k - 1];
    classes[place] = {static_cast<int32_t>(i), 0.0f, ""};
  }
  if (count == 0) return;
  if (kind == Classes::Independent) {
    for (size_t k = 0; k < count; ++k) {
      classes[k].probability = static_cast<float>(1.0 / (1.0 + std::exp(-double{logits[classes[k].index]})));
    }
    return;
  }
  const double largest = logits[classes[0].index];
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(logits[i] - largest);
  for (size_t k = 0; k < count; ++k) {
    classes[k].probability = static_cast<float>(std::exp(logits[classes[k].index] - largest) / sum);
  }
}

void unit_length(const float* values, size_t n, float* out) {
  double squares = 0.0;
  for (size_t i = 0; i < n; ++i) squares += static_cast<double>(values[i]) * values[i];
  const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(values[i] * scale);
}

}  // namespace ferry::image
