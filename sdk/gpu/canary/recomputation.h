// Values of a step's output computed again on the CPU, in float64, from the rows that they depend on.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// A row of channels of an activation, as Rows counts them.
struct RowId {
  TensorId tensor;
  uint32_t row;
  auto operator<=>(const RowId&) const = default;
};
using RowValues = std::map<RowId, std::vector<double>>;

// A value, and how far a correct kernel may be from it. The tolerance grows with the magnitudes that were added and
// multiplied, not with the result alone, because sums cancel.
struct Expected {
  double value = 0, tolerance = 0;
};

// A step whose rows can be computed one by one: products with constant weights, convolutions, norms and softmax over
// channels, and elementwise operators, with all that is fused into them.
class Recomputation {
 public:
  // `bound`: kCanaryBound or kCanaryFloat16Bound, as a fraction of those magnitudes.
  Recomputation(const Model& model, const Program& program, const Step& step, double bound);

  // False: the step's rows depend on too much; recompute() then needs whole tensors.
  bool by_rows() const { return by_rows_; }
  // False: neither rows nor the whole step can be computed again, because it reads or changes a state.
  bool possible() const { return possible_; }
  const Rows& output() const { return output_; }
  // Multiply-adds of one value, of all its row's values together if `per_row()`.
  uint64_t work() const { return work_; }
  bool per_row() const { return per_row_; }

  // The rows that row `row` of the output depends on, ascending, without duplicates. by_rows() only.
  std::vector<RowId> reads(uint32_t row) const;
  // The values of `channels` in row `row`. `inputs` has the rows of reads(row). by_rows() only.
  std::vector<Expected> row(uint32_t row, std::span<const uint32_t> channels, const RowValues& inputs) const;
  // All outputs, from whole inputs, row-major without padding.
  std::map<TensorId, std::vector<Expected>> whole(const std::map<TensorId, std::vector<double>>& inputs) const;

 private:
  const fbs::Operator& op(size_t i) const;
  bool runs_by_rows(const fbs::Operator& op, bool first) const;
  // The row of `tensor` that belongs to a row of the output, where shapes broadcast.
  uint32_t row_of(TensorId tensor, uint32_t row) const;
  std::vector<double> constant(TensorId tensor, uint64_t begin, uint64_t count) const;
  std::vector<double> operand(TensorId tensor, uint32_t row, std::span<const uint32_t> channels,
                              const RowValues& inputs) const;
  std::vector<Expected> product(uint32_t row, std::span<const uint32_t> channels, const RowValues& inputs) const;
  std::vector<Expected> whole_row(uint32_t row, std::span<const uint32_t> channels, const RowValues& inputs) const;
  // `given`: the chain's value, or null for an operator that begins it.
  std::vector<Expected> elementwise(const fbs::Operator& op, const std::vector<Expected>* given, uint32_t row,
                                    std::span<const uint32_t> channels, const RowValues& inputs) const;

  const Model& model_;
  const Shapes& shapes_;
  const std::vector<int> operators_;
  const TensorId tensor_;
  const Storage storage_;
  const double bound_;
  Rows output_;
  bool by_rows_ = false, possible_ = false, per_row_ = false;
  uint64_t work_ = 1;
};

// Compares a value with what is expected. Returns the error as a fraction of the tolerance: above 1 it is wrong. 0 for
// values that are not comparable: not finite, or beyond what float16 holds.
double excess(const Expected& expected, float got, Storage storage);

}  // namespace ferry::gpu
