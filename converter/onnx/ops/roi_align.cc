// RoiAlign: every bin of a region is the mean or maximum of bilinear samples, which become gathers.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/sample.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

struct Bins {
  int64_t height = 1, width = 1;  // bins of a region
  double scale = 1;
  bool half_pixel = true, max = false;
};

// The two neighbours of `at` [R,I] along a side of `size`. Samples beyond 1 outside of the map weigh 0; others outside
// have the value of the edge.
std::vector<Tap> neighbours(Tensor at, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  const Tensor outside = binary(Binary::Or, binary(Binary::Less, at, scalar(at, -1)),
                                binary(Binary::Less, scalar(at, static_cast<double>(size)), at));
  const Tensor counts = cast_to(unary(outside, Unary::Not), fbs::DType::Float32);
  const Tensor inside = unary(at, Unary::Clamp, 0, last);
  const Tensor low = unary(inside, Unary::Floor), beyond = inside - low;
  const Tensor high = unary(low + 1.0, Unary::Clamp, 0, last);
  return {{low, (scalar(beyond, 1) - beyond) * counts}, {high, beyond * counts}};
}

// Sample positions of regions [R]: [R,bins*grid].
Tensor sample_positions(Op& op, Tensor begin, Tensor end, const Bins& b, int64_t bins, int64_t grid) {
  const double offset = b.half_pixel ? -0.5 : 0;
  begin = begin * b.scale + offset;
  Tensor extent = end * b.scale + offset - begin;
  if (!b.half_pixel) extent = binary(Binary::Max, extent, scalar(extent, 1));
  std::vector<double> parts;
  for (int64_t i = 0; i < bins * grid; ++i)
    parts.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * grid));
  const Tensor part =
      op.graph().add_constant(op.node().name + ".parts", Shape{1, static_cast<int32_t>(bins * grid)}, parts);
  return begin + extent * part;
}

// Positions of rows [R,I] and columns [R,J] as factors of all pairs [R,I,J].
Tap paired(const Tap& tap, const Dims& pairs, bool rows) {
  const Dims one = rows ? Dims{pairs[0], pairs[1], 1} : Dims{pairs[0], 1, pairs[2]};
  return {reshape_to(tap.place, one), reshape_to(tap.share, one)};
}

// Regions [R,4] and their samples' indices [R,1] to [R,height,width,C].
Tensor aligned(Op& op, Tensor maps, Tensor regions, Tensor samples, const Bins& b, int64_t grid_y, int64_t grid_x) {
  const Dims d = dims_of(maps);
  const int64_t count = dims_of(regions)[0];
  const auto corner = [&](int i) { return ferry::slice(regions, 1, i, 1); };
  const Tensor y = sample_positions(op, corner(1), corner(3), b, b.height, grid_y);
  const Tensor x = sample_positions(op, corner(0), corner(2), b, b.width, grid_x);
  const Dims pairs = {count, b.height * grid_y, b.width * grid_x};
  count_computed({count_elements(pairs), d[3]});
  const Tensor pixels = reshape_to(maps, {d[0] * d[1] * d[2], d[3]});
  if (d[0] * d[1] * d[2] > 1 << 24) op.refuse("maps of %lld positions", static_cast<long long>(d[0] * d[1] * d[2]));
  const Tensor first = samples * static_cast<double>(d[1]);
  std::optional<Tensor> found;
  for (const Tap& row : neighbours(y, d[1])) {
    const Tap rows = paired({(row.place + first) * static_cast<double>(d[2]), row.share}, pairs, true);
    for (const Tap& column : neighbours(x, d[2])) {
      const Tap columns = paired(column, pairs, false);
      const Tensor index = cast_to(rows.place + columns.place, fbs::DType::Int32);
      const Tensor values =
          op.graph().add_op("", fbs::GatherT{}, {pixels, reshape_to(index, {count_elements(pairs)})}) *
          reshape_to(rows.share * columns.share, {count_elements(pairs), 1});
      found = !found ? values : b.max ? binary(Binary::Max, *found, values) : *found + values;
    }
  }
  const Tensor cells = reshape_to(*found, {count * b.height, grid_y, b.width, grid_x, d[3]});
  return reshape_to(reduce(cells, b.max ? fbs::ReduceKind::Max : fbs::ReduceKind::Mean, {1, 3}, false),
                    {count, b.height, b.width, d[3]});
}

constexpr int64_t kMaxRegions = 64;  // whose number of samples differs

}  // namespace

void roi_align(Op& op) {
  const Dims dims = op.dims(0), regions = op.dims(1);
  if (dims.size() != 4 || regions.size() != 2 || regions[1] != 4 || op.dims(2) != Dims{regions[0]})
    op.refuse("maps %s, regions %s and their samples %s", to_string(dims).c_str(), to_string(regions).c_str(),
              to_string(op.dims(2)).c_str());
  const std::string coordinates = op.text("coordinate_transformation_mode", "half_pixel"),
                    mode = op.text("mode", "avg");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    op.refuse("attribute 'coordinate_transformation_mode' is '%s', expected half_pixel or output_half_pixel",
              coordinates.c_str());
  if (mode != "avg" && mode != "max") op.refuse("attribute 'mode' is '%s', expected avg or max", mode.c_str());
  const Bins b{.height = op.integer("output_height", 1),
               .width = op.integer("output_width", 1),
               .scale = op.number("spatial_scale", 1),
               .half_pixel = op.opset() >= 16 && coordinates == "half_pixel",
               .max = mode == "max"};
  const int64_t ratio = op.integer("sampling_ratio", 0);
  if (b.height < 1 || b.width < 1 || b.height > 1 << 12 || b.width > 1 << 12 || ratio < 0 || ratio > 1 << 10)
    op.refuse("%lld x %lld bins of %lld samples", static_cast<long long>(b.height), static_cast<long long>(b.width),
              static_cast<long long>(ratio));
  const Tensor maps = to_channels_last(op.floating(0)), boxes = op.floating(1);
  const Tensor samples = reshape_to(cast_to(op.tensor(2), fbs::DType::Float32), {regions[0], 1});
  if (ratio > 0) return op.set(to_channels_first(aligned(op, maps, boxes, samples, b, ratio, ratio)), op.type(0));
  // The number of samples follows from a region's size.
  if (!op.known(1)) op.refuse("sampling_ratio is 0 and the regions are computed: export with sampling_ratio 2");
  if (regions[0] > kMaxRegions)
    op.refuse("%lld regions with sampling_ratio 0, at most %lld", static_cast<long long>(regions[0]),
              static_cast<long long>(kMaxRegions));
  const std::vector<double> corners = op.array(1, "the regions").floats();
  std::vector<Tensor> each;
  for (int64_t r = 0; r < regions[0]; ++r) {
    const double* box = &corners[static_cast<size_t>(4 * r)];
    const auto grid = [&](double extent, int64_t bins) {
      if (!b.half_pixel) extent = std::max(extent, 1.0);
      const double count = std::ceil(extent / static_cast<double>(bins));
      if (!(count >= 1 && count <= 1024)) op.refuse("a region of %g", extent);
      return to_integer(count);
    };
    const int at = static_cast<int>(r);
    each.push_back(aligned(op, maps, ferry::slice(boxes, 0, at, 1), ferry::slice(samples, 0, at, 1), b,
                           grid((box[3] - box[1]) * b.scale, b.height), grid((box[2] - box[0]) * b.scale, b.width)));
  }
  op.set(to_channels_first(ferry::concat(each, 0)), op.type(0));
}

}  // namespace ferry::onnx
