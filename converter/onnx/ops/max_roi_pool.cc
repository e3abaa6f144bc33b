// MaxRoiPool: the maximum of each bin of a region. The sides of a bin follow from values, so the maxima of all windows
// whose sides are powers of two are computed first; any side is covered by two of those, which may overlap.
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

constexpr int64_t kMaxPixels = 1 << 24;  // of all tables: exact as Float32

// Of every region and bin along one side, [R,bins]: the exponent of the windows, where the two begin, and whether the
// bin is empty.
struct Cover {
  Tensor exponent, first, second, empty;
};

Tensor at_least(Tensor x, double value) {
  return cast_to(unary(binary(Binary::Less, x, scalar(x, value)), Unary::Not), fbs::DType::Float32);
}

// To the nearest integer, halves away from zero.
Tensor to_nearest(Tensor x) {
  const Tensor size = unary(x, Unary::Abs), whole = unary(size, Unary::Floor);
  return (whole + at_least(size - whole, 0.5)) * unary(x, Unary::Sign);
}

int exponents(int64_t size) {
  int count = 0;
  while (size >> count > 0) ++count;
  return count;
}

// `begin` and `end` [R,1] are the first and last position of the regions. In Float32, as every implementation has it:
// where a bin's limit is close to an integer, its rounding decides.
Cover cover(Op& op, Tensor begin, Tensor end, int64_t bins, int64_t size) {
  const Tensor extent = unary(end - begin + 1.0, Unary::Clamp, 1, kInfinity);
  const Tensor bin = binary(Binary::Div, extent, scalar(extent, static_cast<double>(bins)));
  std::vector<double> places;
  for (int64_t i = 0; i < bins; ++i) places.push_back(static_cast<double>(i));
  const Tensor place = op.graph().add_constant(op.node().name + ".bins", Shape{1, static_cast<int32_t>(bins)}, places);
  const auto limit = [&](Tensor x) { return unary(x + begin, Unary::Clamp, 0, static_cast<double>(size)); };
  const Tensor low = limit(unary(place * bin, Unary::Floor)), high = limit(unary((place + 1.0) * bin, Unary::Ceil));
  const Tensor count = high - low;
  Tensor exponent = count * 0.0, width = exponent + 1.0;
  for (int k = 1; k < exponents(size); ++k) {
    const Tensor more = at_least(count, static_cast<double>(int64_t{1} << k));
    exponent = exponent + more;
    width = width + more * static_cast<double>(int64_t{1} << (k - 1));
  }
  const auto inside = [&](Tensor x) { return unary(x, Unary::Clamp, 0, static_cast<double>(size - 1)); };
  return {exponent, inside(low), inside(high - width), binary(Binary::Less, count, scalar(count, 1))};
}

// The maximum of x and of x moved by `shift` along an axis. The last `shift` positions are not those of a whole window;
// no bin reads them.
Tensor widened(Tensor x, int axis, int64_t shift) {
  const auto at = static_cast<size_t>(axis);
  const int64_t size = dims_of(x)[at];
  fbs::PadT pad;
  pad.before.assign(4, 0);
  pad.after.assign(4, 0);
  pad.after[at] = static_cast<int32_t>(shift);
  const Tensor moved = ferry::slice(x, axis, static_cast<int>(shift), static_cast<int>(size - shift));
  return binary(Binary::Max, x, x.graph->add_op("", pad, {moved}));
}

// [R,1,bins] or [R,bins,1] as [R,rows,columns].
Tensor of_rows(Tensor x, const Dims& cells) { return reshape_to(x, {cells[0], cells[1], 1}); }
Tensor of_columns(Tensor x, const Dims& cells) { return reshape_to(x, {cells[0], 1, cells[2]}); }

}  // namespace

void max_roi_pool(Op& op) {
  const Dims dims = op.dims(0), regions = op.dims(1);
  if (dims.size() != 4 || regions.size() != 2 || regions[1] != 5)
    op.refuse("maps %s and regions %s, expected [N,C,H,W] and [R,5]", to_string(dims).c_str(),
              to_string(regions).c_str());
  const std::vector<int64_t> bins = op.integers("pooled_shape");
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1 || bins[0] > 1 << 12 || bins[1] > 1 << 12)
    op.refuse("attribute 'pooled_shape' is %s, expected two sizes from 1 to 4096", to_string(bins).c_str());
  const double scale = op.number("spatial_scale", 1);
  if (!(scale > 0 && scale < kInfinity)) op.refuse("attribute 'spatial_scale' is %g, expected more than 0", scale);
  const int tall = exponents(dims[2]), wide = exponents(dims[3]);
  const int64_t maps = dims[0] * dims[2] * dims[3], cells = regions[0] * bins[0] * bins[1];
  if (count_elements({tall, wide, dims[0], dims[2], dims[3]}) > kMaxPixels)
    op.refuse("maps of %lld positions", static_cast<long long>(maps));
  count_computed({cells, dims[1]});

  Tensor windows = to_channels_last(op.floating(0));
  std::vector<Tensor> tables;
  for (int y = 0; y < tall; ++y) {
    if (y > 0) windows = widened(windows, 1, int64_t{1} << (y - 1));
    Tensor wider = windows;
    for (int x = 0; x < wide; ++x) {
      if (x > 0) wider = widened(wider, 2, int64_t{1} << (x - 1));
      tables.push_back(reshape_to(wider, {maps, dims[1]}));
    }
  }
  const Tensor table = tables.size() > 1 ? ferry::concat(tables, 0) : tables[0];

  const Tensor corners = op.floating(1);
  const auto corner = [&](int i) { return to_nearest(ferry::slice(corners, 1, i, 1) * scale); };
  const Cover rows = cover(op, corner(2), corner(4), bins[0], dims[2]);
  const Cover columns = cover(op, corner(1), corner(3), bins[1], dims[3]);
  // A sample that does not exist ends the run with an error, also a negative one.
  const Tensor sample = unary(ferry::slice(corners, 1, 0, 1), Unary::Floor);
  const Tensor known = select(binary(Binary::Less, sample, scalar(sample, 0)), scalar(sample, kMaxPixels), sample);
  const Dims grid = {regions[0], bins[0], bins[1]};
  const Tensor first_map =
      (of_rows(rows.exponent, grid) * static_cast<double>(wide) + of_columns(columns.exponent, grid)) *
          static_cast<double>(dims[0]) +
      reshape_to(known, {regions[0], 1, 1});
  std::optional<Tensor> best;
  for (const Tensor y : {rows.first, rows.second}) {
    for (const Tensor x : {columns.first, columns.second}) {
      const Tensor place =
          (first_map * static_cast<double>(dims[2]) + of_rows(y, grid)) * static_cast<double>(dims[3]) +
          of_columns(x, grid);
      const Tensor index = reshape_to(cast_to(place, fbs::DType::Int32), {cells});
      const Tensor found = op.graph().add_op("", fbs::GatherT{}, {table, index});
      best = best ? binary(Binary::Max, *best, found) : found;
    }
  }
  const Tensor empty = binary(Binary::Or, of_rows(rows.empty, grid), of_columns(columns.empty, grid));
  const Tensor pooled = select(reshape_to(empty, {cells, 1}), scalar(*best, 0), *best);
  op.set(to_channels_first(reshape_to(pooled, {regions[0], bins[0], bins[1], dims[1]})), op.type(0));
}

}  // namespace ferry::onnx
