// Rounding of weights that minimises the error of the products instead of the weights': GPTQ (Frantar et al.,
// arXiv:2210.17323).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// The upper triangle U of the Cholesky factor of the inverse, H^-1 = U^T U, with 1 % of the mean diagonal added to the
// diagonal. Empty if the matrix is singular nevertheless. Elements are computed in a fixed order.
std::vector<double> inverse_factor(const Hessian& hessian);

// Rounds a channel's weights, in their order, to integers of -127 to 127 times `scale`; the error of each is moved to
// the weights after it. `factor`: inverse_factor() of the inputs. `weights` are overwritten.
void round_by_hessian(std::span<double> weights, std::span<const double> factor, double scale,
                      std::span<int8_t> integers);

}  // namespace ferry::int8
