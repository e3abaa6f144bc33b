#include <algorithm>
#include <cmath>

#include "converter/quantize/rounding.h"

namespace ferry::int8 {
namespace {

// Replaces a symmetric matrix, given by its lower triangle, by its lower Cholesky factor.
bool factorise(std::vector<double>& a, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    double* row_j = &a[j * n];
    for (size_t i = j; i < n; ++i) {
      double* row_i = &a[i * n];
      double sum = row_i[j];
      for (size_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
      if (i == j) {
        if (!(sum > 0)) return false;
        row_j[j] = std::sqrt(sum);
      } else {
        row_i[j] = sum / row_j[j];
      }
    }
  }
  return true;
}

// The inverse of a lower triangle.
std::vector<double> inverse_of_lower(const std::vector<double>& l, size_t n) {
  std::vector<double> out(n * n);
  for (size_t i = 0; i < n; ++i) {
    double* row = &out[i * n];
    for (size_t k = 0; k < i; ++k) {
      const double factor = l[i * n + k];
      const double* above = &out[k * n];
      for (size_t j = 0; j <= k; ++j) row[j] -= factor * above[j];
    }
    const double diagonal = 1 / l[i * n + i];
    for (size_t j = 0; j < i; ++j) row[j] *= diagonal;
    row[i] = diagonal;
  }
  return out;
}

}  // namespace

void Hessian::add(std::span<const double> row) {
  ++rows_;
  for (size_t i = 0; i < width_; ++i) {
    const double x = row[i];
    mean_[i] += x;
    if (x == 0) continue;
    double* sums = &sums_[i * width_];
    for (size_t j = 0; j <= i; ++j) sums[j] += x * row[j];
  }
}

std::vector<double> inverse_factor(const Hessian& hessian) {
  constexpr double kDamping = 0.01;
  const size_t n = hessian.width();
  // H^-1 = U^T U with U upper is the factorisation of H in reverse order: with P reversing, P H P = L L^T gives
  // H^-1 = (P L^-1 P)^T (P L^-1 P), and P L^-1 P is upper.
  std::vector<double> a(n * n);
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += hessian.sums()[i * n + i];
  const double damping = kDamping * trace / static_cast<double>(n);
  if (!(damping > 0)) return {};
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j)
      a[i * n + j] = hessian.sums()[(n - 1 - j) * n + (n - 1 - i)] + (i == j ? damping : 0);
  if (!factorise(a, n)) return {};
  const std::vector<double> inverse = inverse_of_lower(a, n);
  std::vector<double> out(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i; j < n; ++j) out[i * n + j] = inverse[(n - 1 - i) * n + (n - 1 - j)];
  return out;
}

void round_by_hessian(std::span<double> weights, std::span<const double> factor, double scale,
                      std::span<int8_t> integers) {
  constexpr double kMax = 127;
  const size_t n = weights.size();
  for (size_t i = 0; i < n; ++i) {
    const double q = std::clamp(std::nearbyint(weights[i] / scale), -kMax, kMax);
    integers[i] = static_cast<int8_t>(q);
    const double error = (weights[i] - q * scale) / factor[i * n + i];
    for (size_t j = i + 1; j < n; ++j) weights[j] -= error * factor[i * n + j];
  }
}

}  // namespace ferry::int8
