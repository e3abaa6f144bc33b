#include <algorithm>
#include <bit>

#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

constexpr uint32_t kRowQuads = 8, kRowShares = 16;  // a workgroup of reduce_rows
constexpr uint32_t kReduceInvocations = 128;        // of reduce

// Dimensions of one kind (kept or reduced), adjacent ones merged, innermost last.
struct Dims {
  std::vector<uint32_t> sizes, strides;

  void add(uint32_t size, uint32_t stride) {
    if (size == 1) return;
    if (!sizes.empty() && strides.back() == size * stride) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  uint32_t count() const {
    uint32_t n = 1;
    for (uint32_t size : sizes) n *= size;
    return n;
  }
  // Appends the sizes of all but the outermost dimension, then all strides, padded to `maximum` dimensions. False:
  // more.
  bool append_to(WordList* push, size_t maximum) const {
    if (sizes.size() > maximum) return false;
    const size_t missing = maximum - sizes.size();
    for (size_t i = 1; i < maximum; ++i) push->append(i < missing ? 1 : sizes[i - missing]);
    for (size_t i = 0; i < maximum; ++i) push->append(i < missing ? 0 : strides[i - missing]);
    return true;
  }
};

}  // namespace

// Alternative 0: sums whole rows; the last dimension is kept. Alternative 1: element by element.
Status lower_reduce(const Problem& problem, int alternative, Lowering* out) {
  const fbs::Reduce& p = *problem.op.params_as_Reduce();
  const Shape& in = problem.inputs[0];
  const auto reduced = [&](int d) { return std::find(p.axes()->begin(), p.axes()->end(), d) != p.axes()->end(); };
  const bool by_rows = alternative == 0;
  const int last = in.rank - 1;
  if (by_rows && reduced(last)) return unsupported("the last dimension is reduced");

  // Strides in rows, or in elements, padding lanes included.
  Dims kept, gone;
  std::vector<uint32_t> strides(static_cast<size_t>(in.rank), 1);
  uint32_t stride = by_rows ? 1 : rows_of(in).quads() * 4;
  for (int d = last - 1; d >= 0; --d) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= static_cast<uint32_t>(in[d]);
  }
  for (int d = 0; d < in.rank; ++d) {
    if (by_rows && d == last) continue;
    (reduced(d) ? gone : kept).add(static_cast<uint32_t>(in[d]), strides[static_cast<size_t>(d)]);
  }

  const Rows rows = rows_of(problem.output);
  const float scale = p.kind() == fbs::ReduceKind::Mean ? 1.0f / static_cast<float>(gone.count()) : 1.0f;
  Call call{.push = {rows.rows, gone.count(), std::bit_cast<uint32_t>(scale)},
            .flops = static_cast<uint64_t>(in.elements())};
  const size_t maximum = by_rows ? 3 : 4;
  if (!kept.append_to(&call.push, maximum) || !gone.append_to(&call.push, maximum))
    return unsupported("too many dimensions alternate");
  if (gone.count() / (by_rows ? kRowShares : kReduceInvocations) > kMaxRounds)
    return unsupported("too many terms in a sum");
  if (by_rows) {
    call.kernel = Kernel::ReduceRows;
    call.workgroup = {kRowQuads, kRowShares, 1};
    call.constants = {kRowShares, kRowQuads, 0};
    call.groups = spread(uint64_t{rows.rows} * ((rows.quads() + kRowQuads - 1) / kRowQuads), 1, problem.limits);
  } else {
    call.kernel = Kernel::Reduce;
    call.workgroup = {kReduceInvocations, 1, 1};
    call.constants = {kReduceInvocations};
    call.groups = spread(rows.total(), 1, problem.limits);
  }
  return out->add_with_epilogue(std::move(call));
}

}  // namespace ferry::gpu
