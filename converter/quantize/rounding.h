// Rounding of weights that minimises the error of the products instead of the weights': GPTQ (Frantar et al.,
// arXiv:2210.17323), in the form without an inverse that Chee et al. prove equal (QuIP, arXiv:2307.13304, theorem 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sdk/threads/pool.h"

namespace ferry::int8 {

// The sum of x x^T over rows x, as its lower triangle, and the sum of x.
class Hessian {
 public:
  explicit Hessian(size_t width) : width_(width), sums_(width * width), mean_(width) {}

  void add(std::span<const double> row);
  size_t width() const { return width_; }
  size_t rows() const { return rows_; }
  const std::vector<double>& sums() const { return sums_; }
  // Of element `i` of the rows.
  double mean(size_t i) const { return rows_ == 0 ? 0 : mean_[i] / static_cast<double>(rows_); }

 private:
  size_t width_, rows_ = 0;
  std::vector<double> sums_, mean_;
};

// By how much the error of an earlier weight moves a later one: the lower triangle F, with ones on the diagonal, of
// H = F^T D F with a diagonal D. `sums`: the lower triangle of H [width,width], which becomes the result in place;
// 1 % of the mean diagonal is added to the diagonal. Empty if the matrix is singular nevertheless. The result does not
// depend on the number of threads; `pool` may be null.
std::vector<double> feedback_of(std::vector<double> sums, size_t width, Pool* pool);

// Integers from `low` to `high`, and how many consecutive ones of a row share a scale.
struct Levels {
  double low, high;
  size_t block;
};

// Rounds the rows of `weights` [rows,width] to `integers` times `scales` [rows,width / block], each row in its order;
// the error of each weight is moved to those after it. `feedback`: feedback_of() the inputs.
void round_by_hessian(std::span<const double> weights, size_t width, std::span<const double> feedback,
                      std::span<const double> scales, const Levels& levels, std::span<int8_t> integers);

}  // namespace ferry::int8
