// Transposed convolutions as operators that have an integer form.
#pragma once

#include "converter/graph/graph.h"

namespace ferry::int8 {

// Replaces transposed convolutions with weights of integers (recover_integers()), whose result only Requantize to Int8
// reads, by a convolution that computes all pixels of a cell of stride x stride output pixels as channels, a
// pixel_shuffle and a slice: the same sums (Shi et al., arXiv:1609.07009). Others, and those with groups, dilations or
// two strides, stay.
void transposed_as_convolutions(Graph& graph);

}  // namespace ferry::int8
