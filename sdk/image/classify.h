// Probabilities from logits, and normalised embeddings.
#pragma once

#include <ferry/image.h>

#include <cstddef>

namespace ferry::image {

// The `count` most probable classes, best first; equal logits by index. NaN sorts last. Probabilities are computed in
// double. Exclusive: softmax over all `n` logits, shifted by the maximum to avoid overflow. Independent: the sigmoid of
// each.
enum class Classes { Exclusive, Independent };
void top_classes(const float* logits, size_t n, Classes kind, ferry_class* classes, size_t count);

// Divides `n` values by their Euclidean norm, summed in double; zeros stay zeros.
void unit_length(const float* values, size_t n, float* out);

}  // namespace ferry::image
