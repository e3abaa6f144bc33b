#include "converter/quantize/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sdk/threads/loops.h"

namespace ferry::int8 {
namespace {

// Mirrors a lower triangle at the other diagonal, which reverses the order of a symmetric matrix.
void reverse(std::vector<double>& a, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i && i + j < n; ++j) std::swap(a[i * n + j], a[(n - 1 - j) * n + (n - 1 - i)]);
}

// Replaces a symmetric matrix, given by its lower triangle, by its lower Cholesky factor, by blocks of columns.
bool factorise(std::vector<double>& a, size_t n, Pool* pool) {
  constexpr size_t kBlock = 64, kRows = 16;
  std::vector<double> panel(kBlock * n);  // the block's columns below its diagonal, transposed
  for (size_t first = 0; first < n; first += kBlock) {
    const size_t end = std::min(first + kBlock, n), below = n - end;
    // Element j of row i, if those before it are known.
    const auto remaining = [&](const double* row_i, const double* row_j, size_t j) {
      double sum = row_i[j];
      for (size_t k = first; k < j; ++k) sum -= row_i[k] * row_j[k];
      return sum;
    };
    for (size_t i = first; i < end; ++i) {
      double* row = &a[i * n];
      for (size_t j = first; j < i; ++j) row[j] = remaining(row, &a[j * n], j) / a[j * n + j];
      const double square = remaining(row, row, i);
      if (!(square > 0)) return false;
      row[i] = std::sqrt(square);
    }
    if (below == 0) break;
    parallel(pool, Grid<1, 1>{{below}, {kRows}}, [&](Pool::Share&, size_t begin, size_t count) {
      for (size_t i = begin; i < begin + count; ++i) {
        double* row = &a[(end + i) * n];
        for (size_t j = first; j < end; ++j)
          panel[(j - first) * n + i] = row[j] = remaining(row, &a[j * n], j) / a[j * n + j];
      }
    });
    parallel(pool, Grid<1, 1>{{below}, {kRows}}, [&](Pool::Share&, size_t begin, size_t count) {
      for (size_t i = begin; i < begin + count; ++i) {
        const double* own = &a[(end + i) * n + first];
        double* row = &a[(end + i) * n + end];
        for (size_t k = 0; k + 4 <= end - first; k += 4) {
          const double* p = &panel[k * n];
          for (size_t j = 0; j <= i; ++j)
            row[j] -= (own[k] * p[j] + own[k + 1] * p[n + j]) + (own[k + 2] * p[2 * n + j] + own[k + 3] * p[3 * n + j]);
        }
      }
    });
  }
  return true;
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

std::vector<double> feedback_of(std::vector<double> sums, size_t width, Pool* pool) {
  constexpr double kDamping = 0.01;
  const size_t n = width;
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += sums[i * n + i];
  const double damping = kDamping * trace / static_cast<double>(n);
  if (!(damping > 0)) return {};
  for (size_t i = 0; i < n; ++i) sums[i * n + i] += damping;
  // With P reversing the order, P H P = L L^T, so that H = (P L P) (P L P)^T and F^T is P L P with its columns scaled.
  reverse(sums, n);
  if (!factorise(sums, n, pool)) return {};
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j) sums[i * n + j] /= sums[j * n + j];
  for (size_t i = 0; i < n; ++i) sums[i * n + i] = 1;
  reverse(sums, n);
  return sums;
}

void round_by_hessian(std::span<const double> weights, size_t width, std::span<const double> feedback,
                      std::span<const double> scales, const Levels& levels, std::span<int8_t> integers) {
  constexpr size_t kLanes = 16;  // rows at once, which share the reads of `feedback`
  const size_t rows = weights.size() / width, blocks = width / levels.block;
  std::vector<std::array<double, kLanes>> errors(width);
  for (size_t first = 0; first < rows; first += kLanes) {
    const size_t lanes = std::min(kLanes, rows - first);
    for (size_t i = 0; i < width; ++i) {
      std::array<double, kLanes> moved = {};
      const double* shares = &feedback[i * width];
      for (size_t j = 0; j < i; ++j)
        for (size_t r = 0; r < kLanes; ++r) moved[r] += shares[j] * errors[j][r];
      for (size_t r = 0; r < lanes; ++r) {
        const size_t row = first + r;
        const double weight = weights[row * width + i], scale = scales[row * blocks + i / levels.block];
        const double q = std::clamp(std::nearbyint((weight + moved[r]) / scale), levels.low, levels.high);
        integers[row * width + i] = static_cast<int8_t>(q);
        errors[i][r] = weight - q * scale;
      }
    }
  }
}

}  // namespace ferry::int8
