// Determinants and affine grids.
#include <cmath>
#include <utility>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// By elimination with pivots.
double determinant(std::vector<double> m, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t r = k + 1; r < n; ++r)
      if (std::fabs(m[r * n + k]) > std::fabs(m[pivot * n + k])) pivot = r;
    if (m[pivot * n + k] == 0) return 0;
    for (size_t c = 0; pivot != k && c < n; ++c) std::swap(m[k * n + c], m[pivot * n + c]);
    product *= pivot == k ? m[k * n + k] : -m[k * n + k];
    for (size_t r = k + 1; r < n; ++r) {
      const double factor = m[r * n + k] / m[k * n + k];
      for (size_t c = k; c < n; ++c) m[r * n + c] -= factor * m[k * n + c];
    }
  }
  return product;
}

// By expansion along the first of `columns`, from row `row` on. `cells`: row-major, of rows of `n`.
Tensor expanded(const std::vector<Tensor>& cells, size_t n, size_t row, const std::vector<size_t>& columns) {
  if (columns.size() == 1) return cells[row * n + columns[0]];
  std::optional<Tensor> sum;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Tensor part = cells[row * n + columns[i]] * expanded(cells, n, row + 1, rest);
    sum = !sum ? part : i % 2 == 0 ? *sum + part : *sum - part;
  }
  return *sum;
}

constexpr int64_t kMaxExpanded = 4;

// Centres of `size` cells over -1..1, or with align_corners positions that include the ends.
double coordinate(int64_t i, int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size), at = static_cast<double>(i);
  if (align_corners) return size == 1 ? -1 : 2 * at / (n - 1) - 1;
  return (2 * at + 1) / n - 1;
}

}  // namespace

void det(Op& op) {
  const Dims dims = op.dims(0);
  if (dims.size() < 2 || dims.back() != dims[dims.size() - 2] || dims.back() == 0)
    op.refuse("an input of %s, expected square matrices", to_string(dims).c_str());
  const auto n = static_cast<size_t>(dims.back());
  const Dims batch(dims.begin(), dims.end() - 2);
  if (op.known()) {
    const Array& x = op.array(0, "X");
    const std::vector<double> values = x.floats();
    std::vector<double> results;
    for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(n * n))
      results.push_back(determinant({at, at + static_cast<std::ptrdiff_t>(n * n)}, n));
    return op.set(make_array(x.type, batch, results));
  }
  if (dims.back() > kMaxExpanded)
    op.refuse("computed matrices of %zu rows, at most %lld", n, static_cast<long long>(kMaxExpanded));
  const Tensor x = reshape_to(op.floating(0), {count_elements(batch), dims.back() * dims.back()});
  std::vector<Tensor> cells;
  for (size_t i = 0; i < n * n; ++i) cells.push_back(ferry::slice(x, 1, static_cast<int>(i), 1));
  std::vector<size_t> columns;
  for (size_t c = 0; c < n; ++c) columns.push_back(c);
  op.set(reshape_to(expanded(cells, n, 0, columns), batch), op.type(0));
}

// theta [N,2,3] or [N,3,4] to coordinates [N,H,W,2] or [N,D,H,W,3], x first.
void affine_grid(Op& op) {
  const std::vector<int64_t> size = op.array(1, "size").ints();
  const Dims theta = op.dims(0);
  const size_t sides = size.size() < 2 ? 0 : size.size() - 2;
  if (sides < 2 || sides > 3 || theta != Dims{size[0], static_cast<int64_t>(sides), static_cast<int64_t>(sides) + 1})
    op.refuse("theta %s for a size of %zu dimensions", to_string(theta).c_str(), size.size());
  const bool align_corners = op.integer("align_corners", 0) != 0;
  const Dims places(size.begin() + 2, size.end());
  for (const int64_t side : places)
    if (side < 1) op.refuse("a size of %s", to_string(size).c_str());
  const Dims strides = strides_of(places);
  const int64_t count = count_elements(places), columns = static_cast<int64_t>(sides) + 1;
  std::vector<double> base(static_cast<size_t>(count_computed({count, columns})));
  for (int64_t i = 0; i < count; ++i)
    for (size_t c = 0; c <= sides; ++c) {
      const size_t d = sides - 1 - c;  // of the side, for c < sides
      base[static_cast<size_t>(i * columns) + c] =
          c == sides ? 1 : coordinate(i / strides[d] % places[d], places[d], align_corners);
    }
  const Tensor grid = op.graph().add_constant(
      op.node().name + ".places", Shape{1, static_cast<int32_t>(count), static_cast<int32_t>(columns)}, base);
  Dims to = {size[0]};
  to.insert(to.end(), places.begin(), places.end());
  to.push_back(static_cast<int64_t>(sides));
  op.set(reshape_to(multiply(op, grid, op.floating(0), false, true), to), op.type(0));
}

}  // namespace ferry::onnx
