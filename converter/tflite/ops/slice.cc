// Slices and splits.
#include <algorithm>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

// Elements begin, begin + step... of an axis; all of them: the axis itself.
Tensor along(const Op& op, Tensor x, int axis, int64_t begin, int64_t step, int64_t size) {
  if (begin == 0 && step == 1 && size == x.shape()[axis]) return x;
  if (step == 1) return ferry::slice(x, axis, static_cast<int>(begin), static_cast<int>(size));
  return pick(op, x, axis, size, [&](int64_t i) { return begin + i * step; });
}

// Sets the outputs to consecutive parts of these sizes.
void split_into(Op& op, Tensor x, int axis, const std::vector<int64_t>& sizes) {
  if (sizes.size() != op.output_count()) op.refuse("%zu parts for %zu outputs", sizes.size(), op.output_count());
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
    if (sizes[i] < 1 || begin + sizes[i] > x.shape()[axis])
      op.refuse("part %zu has %lld of %d elements", i, static_cast<long long>(sizes[i]), x.shape()[axis]);
    op.set(i, along(op, x, axis, begin, 1, sizes[i]));
  }
}

}  // namespace

void slice(Op& op) {
  Tensor x = op.tensor(0);
  const Shape shape = x.shape();
  const std::vector<int64_t> begin = op.integers(1, "the begin"), size = op.integers(2, "the size");
  if (begin.size() != static_cast<size_t>(shape.rank) || size.size() != begin.size())
    op.refuse("%zu begins and %zu sizes for %d dimensions", begin.size(), size.size(), shape.rank);
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t from = begin[static_cast<size_t>(d)], said = size[static_cast<size_t>(d)];
    const int64_t n = said == -1 ? shape[d] - from : said;
    if (from < 0 || from > shape[d] || n < 1 || n > shape[d] - from)
      op.refuse("elements %lld and %lld more of %d", static_cast<long long>(from), static_cast<long long>(n), shape[d]);
    x = along(op, x, d, from, 1, n);
  }
  op.set(x);
}

void split(Op& op) {
  const Tensor x = op.tensor(1);
  const int axis = op.axis(op.integer(0, "the axis"), x.shape().rank);
  const auto parts = static_cast<int64_t>(op.output_count());
  if (parts == 0 || x.shape()[axis] % parts != 0)
    op.refuse("%lld parts do not divide %d elements", static_cast<long long>(parts), x.shape()[axis]);
  split_into(op, x, axis, std::vector<int64_t>(op.output_count(), x.shape()[axis] / parts));
}

void split_v(Op& op) {
  const Tensor x = op.tensor(0);
  const int axis = op.axis(op.integer(2, "the axis"), x.shape().rank);
  std::vector<int64_t> sizes = op.integers(1, "the sizes");
  int64_t known = 0;
  for (const int64_t size : sizes) known += std::clamp<int64_t>(size, 0, int64_t{x.shape()[axis]} + 1);
  std::replace(sizes.begin(), sizes.end(), int64_t{-1}, x.shape()[axis] - known);
  split_into(op, x, axis, sizes);
}

// begin, end and stride per dimension, as in NumPy. A bit of begin_mask or end_mask means "from the start" or "to the
// end", one of shrink_axis_mask a single element whose dimension is dropped.
void strided_slice(Op& op) {
  const auto& o = op.options<schema::StridedSliceOptions>();
  Tensor x = op.tensor(0);
  const Shape shape = x.shape();
  const std::vector<int64_t> begins = op.integers(1, "the begin"), ends = op.integers(2, "the end"),
                             steps = op.integers(3, "the strides");
  if (o.ellipsis_mask() != 0 || o.new_axis_mask() != 0) op.refuse("it adds dimensions (ellipsis_mask, new_axis_mask)");
  if (begins.size() > static_cast<size_t>(shape.rank) || ends.size() != begins.size() || steps.size() != begins.size())
    op.refuse("%zu begins, %zu ends and %zu strides for %d dimensions", begins.size(), ends.size(), steps.size(),
              shape.rank);
  std::vector<int32_t> left;
  for (int d = 0; d < shape.rank; ++d) {
    const auto i = static_cast<size_t>(d);
    if (i >= begins.size()) {
      left.push_back(shape[d]);
      continue;
    }
    const int64_t n = shape[d], step = steps[i];
    if (step == 0 || step < -n - 1 || step > n + 1) op.refuse("a stride of %lld", static_cast<long long>(step));
    const auto resolved = [&](int64_t at) {
      at = std::clamp<int64_t>(at, -n - 1, n);
      if (at < 0) at += n;
      return step > 0 ? std::clamp<int64_t>(at, 0, n) : std::clamp<int64_t>(at, -1, n - 1);
    };
    if ((o.shrink_axis_mask() >> d & 1) != 0) {
      const int64_t at = begins[i] < 0 ? begins[i] + n : begins[i];
      if (at < 0 || at >= n) op.refuse("element %lld of %lld", static_cast<long long>(at), static_cast<long long>(n));
      x = along(op, x, d, at, 1, 1);
      continue;
    }
    const bool from_start = (o.begin_mask() >> d & 1) != 0, to_end = (o.end_mask() >> d & 1) != 0;
    const int64_t begin = from_start ? (step > 0 ? 0 : n - 1) : resolved(begins[i]);
    const int64_t end = to_end ? (step > 0 ? n : -1) : resolved(ends[i]);
    const int64_t size = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    if (size < 1) op.refuse("dimension %d has no elements left", d);
    x = along(op, x, d, begin, step, size);
    left.push_back(static_cast<int32_t>(size));
  }
  op.set(reshape_to(x, left));
}

}  // namespace ferry::tflite
