// Bodies of loops as patterns: what the body must compute, written as text.
//
//     row = Gather(rows, i, axis=0)
//     next0 = Concat(state0, [Mul(row, 2)], axis=0)
//
// A term is an operator with its inputs and attributes, the name of another line, a number, `-` for an omitted input,
// or [x], which is x as a tensor of one dimension (Unsqueeze along axis 0). `i` is the iteration, `state0` and so on
// are the carried values before it, `next0` and so on those after it. Names without a line are values from outside of
// the loop, or numbers.
#pragma once

#include <string_view>

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {

// Names of values from outside by their names in `text`, constants of the body left out; nothing unless `loop` is a
// Loop with a trip count whose body computes exactly this in every iteration.
std::optional<std::map<std::string, std::string>> match_loop(const Matcher& matcher, const Node& loop,
                                                             std::string_view text);

}  // namespace ferry::onnx
