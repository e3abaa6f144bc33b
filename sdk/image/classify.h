// From logits to classes.
#pragma once

#include <ferry/image.h>

#include <cstddef>

namespace ferry::image {

// The `count` most probable classes, best first; equal logits in the order of their indices. NaN counts as least.
// probability: softmax over all `n` logits, in double, shifted by the largest so that it cannot overflow.
void top_classes(const float* logits, size_t n, ferry_class* classes, size_t count);

}  // namespace ferry::image
