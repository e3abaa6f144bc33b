// Operators with inputs whose sizes follow from values (counted.h). counted_moves.cc: those that pass counts on;
// counted_rows.cc: those that combine or choose elements.
#pragma once

#include <optional>
#include <vector>

#include "converter/onnx/op.h"

namespace ferry::onnx::counts {

using Sizes = std::vector<std::optional<Tensor>>;
using Binary = fbs::BinaryKind;

bool is_counted(const Sizes& sizes);
const std::optional<Tensor>& size_at(const Sizes& sizes, size_t d);
Tensor integers(Graph& graph, const Dims& dims, const std::vector<int64_t>& values);
// Int32: 1 for places below the count along dimension `d` of `rank`, in a shape that broadcasts.
Tensor below_count(Tensor count, int64_t bound, size_t d, size_t rank);
// The same for all counted dimensions; nothing if there is none.
std::optional<Tensor> valid(const Dims& dims, const Sizes& sizes);
Tensor gather_rows(Tensor x, Tensor indices, int axis);
// An input as a tensor of its own type, also where all inputs are constants.
Tensor tensor_of(Op& op, size_t i);
// An input with padding along the counted dimensions in `axes` replaced.
Tensor filled(Op& op, size_t i, const std::vector<int>& axes, double value);
double lowest(Tensor x);
double highest(Tensor x);
// Indices that count from the end count from the count; those of padding become 0.
Tensor safe_indices(Op& op, size_t i, const std::optional<Tensor>& size);

// Import functions: `function` is that of known sizes.
void elementwise(Op& op, OpFunction function);
void batch(Op& op, OpFunction function);
void along_other_axes(Op& op, OpFunction function);
void transposed(Op& op, OpFunction function);
void reshaped(Op& op, OpFunction function);
void squeezed(Op& op, OpFunction function);
void sliced(Op& op, OpFunction function);
void padded(Op& op, OpFunction function);
void of_known_size(Op& op, OpFunction function);
void split_apart(Op& op, OpFunction function);
void expanded(Op& op, OpFunction function);
void constant_of_counts(Op& op, OpFunction function);
void range_of_counts(Op& op, OpFunction function);
void multiplied(Op& op, OpFunction function);
void shape_of(Op& op, OpFunction function);
void gathered(Op& op, OpFunction function);
void gathered_elements(Op& op, OpFunction function);
void gathered_nd(Op& op, OpFunction function);
void scattered(Op& op, OpFunction function);
void concatenated(Op& op, OpFunction function);
void reduced(Op& op, OpFunction function);
void regions(Op& op, OpFunction function);
void sampled(Op& op, OpFunction function);
void best_of_counted(Op& op, OpFunction function);
void arg_best_of_counted(Op& op, OpFunction function);

}  // namespace ferry::onnx::counts
