// From logits to classes, from an embedding to one of unit length.
#pragma once

#include <ferry/image.h>

#include <cstddef>

namespace ferry::image {

// The `count` most probable classes, best first; equal logits in the order of their indices. NaN counts as least.
// probability, in double: Exclusive: softmax over all `n` logits, shifted by the largest so that it cannot overflow.
// Independent: the sigmoid of each.
enum class Classes { Exclusive, Independent };
void top_classes(const float* logits, size_t n, Classes kind, ferry_class* classes, size_t count);

// `n` numbers divided by their Euclidean length, which is summed in double; zeros stay zeros.
void unit_length(const float* values, size_t n, float* out);

}  // namespace ferry::image
