// Rows of activations as the CPU multiplies them with quantised weights.
#pragma once

#include <cstddef>
#include <vector>

namespace ferry::reference {

// Each row of `width` values, which are Float32's, rounded to 8 bits and back: integers of a scale and a zero point of
// the row's own, such that its least and its largest value (and 0) are among 256 steps. The rule is XNNPACK's, in
// float32 like there: halves go to the even integer. A compiler may contract its arithmetic for the zero point, which
// then is one off where it lies within 1e-5 of a half; only values at the row's ends can tell, by a step.
std::vector<double> rounded_rows(const std::vector<double>& values, size_t width);

}  // namespace ferry::reference
