// Runs one operator on extreme values everywhere, and compares element by element with the oracle.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tests/ops/harness.h"

namespace ferry::testing {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
inline constexpr float kMaximum = std::numeric_limits<float>::max(), kMinimum = std::numeric_limits<float>::min();

// Zeros, every power of 2 of both signs times some factors (denormals too), multiples of 5/16 up to 110, infinities and
// NaN.
std::vector<float> all_magnitudes();
// One value per kind.
std::vector<float> few_magnitudes();

// e^87 is the largest power that some sigmoids compute with: beyond, they return less than this instead of 0.
inline constexpr double kVanished = 2e-36;

struct ExtremeOperand {
  Shape shape;
  std::vector<float> values;
  bool constant = false;
};

// An element may differ by relative * |expected| + absolute.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// What a result may be where the oracle has NaN.
enum class Undefined { IsNaN, IsNaNOrZero, IsAny };

struct Sides {
  Tolerance cpu;
  std::optional<Tolerance> gpu = {};  // absent: not run on GPUs
  Undefined undefined = Undefined::IsNaN;
  bool whole = false;  // an output depends on many elements of the operands, so that a GPU needs finite ones
};

// Adds the operator to a graph with its operands.
using AddOperator = std::function<Tensor(Graph&, const std::vector<Tensor>&)>;

// Runs the operator by each of this CPU's kernels, in float16 if it has such a lowering, and on the GPUs under test.
// Expects NaN, infinities and values where the oracle has them. Denormals may count as 0, as operands and as results.
// Of a GPU: elements whose operands are normal or 0 and whose result is defined.
void expect_right_at_extremes(const fbs::OpParamsUnion& params, const AddOperator& add,
                              const std::vector<ExtremeOperand>& operands, const Sides& sides);

template <typename Params>
void expect_right_at_extremes(const Params& params, const std::vector<ExtremeOperand>& operands, const Sides& sides) {
  fbs::OpParamsUnion any;
  any.Set(Params(params));
  const AddOperator add = [&](Graph& graph, const std::vector<Tensor>& tensors) {
    return graph.add_op("op", params, tensors);
  };
  expect_right_at_extremes(any, add, operands, sides);
}

}  // namespace ferry::testing
