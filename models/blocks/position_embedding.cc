#include "models/blocks/position_embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/graph/elementary.h"

namespace ferry {
namespace {

// Source positions and weights of one resampled axis.
struct Taps {
  std::vector<int> position;
  std::vector<double> weight;
};

double cubic(double a, double t) {
  t = std::fabs(t);
  if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

Taps four_nearest(int i, int from, int to) {
  const double source = (i + 0.5) * from / to - 0.5;
  const int left = static_cast<int>(std::floor(source));
  Taps taps;
  for (int position = left - 1; position <= left + 2; ++position) {
    taps.position.push_back(std::clamp(position, 0, from - 1));
    taps.weight.push_back(cubic(-0.75, source - position));
  }
  return taps;
}

Taps antialiased(int i, int from, int to) {
  const double stretch = std::max(1.0, static_cast<double>(from) / to), centre = (i + 0.5) * from / to;
  const int first = std::max(static_cast<int>(centre - 2 * stretch + 0.5), 0);
  const int end = std::min(static_cast<int>(centre + 2 * stretch + 0.5), from);
  Taps taps;
  double sum = 0;
  for (int position = first; position < end; ++position) {
    taps.position.push_back(position);
    taps.weight.push_back(cubic(-0.5, (position + 0.5 - centre) / stretch));
    sum += taps.weight.back();
  }
  for (double& weight : taps.weight) weight /= sum;
  return taps;
}

std::vector<Taps> axis_taps(int from, int to, bool antialias) {
  std::vector<Taps> taps;
  for (int i = 0; i < to; ++i) taps.push_back(antialias ? antialiased(i, from, to) : four_nearest(i, from, to));
  return taps;
}

}  // namespace

std::vector<double> resample_bicubic(std::span<const double> table, int channels, Grid from, Grid to, bool antialias) {
  const std::vector<Taps> rows = axis_taps(from.height, to.height, antialias);
  const std::vector<Taps> columns = axis_taps(from.width, to.width, antialias);
  const size_t width = static_cast<size_t>(channels);
  std::vector<double> out(static_cast<size_t>(to.size()) * width, 0.0);
  double* position = out.data();
  for (const Taps& row : rows) {
    for (const Taps& column : columns) {
      for (size_t i = 0; i < row.position.size(); ++i) {
        for (size_t k = 0; k < column.position.size(); ++k) {
          const double* source = &table[static_cast<size_t>(row.position[i] * from.width + column.position[k]) * width];
          const double weight = row.weight[i] * column.weight[k];
          for (size_t c = 0; c < width; ++c) position[c] += weight * source[c];
        }
      }
      position += width;
    }
  }
  return out;
}

Tensor positions_along(Tensor like, int dim) {
  constexpr int kMaxSide = 1024;  // of a grid, in patches
  std::vector<double> all(kMaxSide);
  std::iota(all.begin(), all.end(), 0.0);
  fbs::SliceT params;
  params.begin = {0, 0};
  params.size = {as_large_as(dim), 1};
  return like.graph->add_op("", params, {like.graph->add_constant("", Shape{kMaxSide, 1}, std::move(all)), like});
}

Tensor count_of(Tensor positions) {
  fbs::SliceT last;
  last.begin = {-1, 0};
  last.size = {1, 1};
  return positions.graph->add_op("", last, {positions}) + 1.0;
}

namespace {

// Horner's scheme; the coefficient of the highest power comes first.
Tensor polynomial(Tensor t, const std::vector<double>& factors) {
  Tensor sum = t * factors.front();
  for (size_t i = 1; i + 1 < factors.size(); ++i) sum = (sum + factors[i]) * t;
  return sum + factors.back();
}

// For each position of an axis of length `count` + `offset`: weights of the `from` source positions and of two beyond
// either edge.
Tensor cubic_weights(Tensor positions, Tensor count, Tensor offset, int from) {
  constexpr double a = -0.75;
  Graph& graph = *positions.graph;
  const Tensor length = graph.add_constant("", Shape{1}, std::vector<double>{static_cast<double>(from)});
  const Tensor centre = (positions + 0.5) * binary(fbs::BinaryKind::Div, length, count + offset) + -0.5;
  std::vector<double> cells(static_cast<size_t>(from) + 4);
  std::iota(cells.begin(), cells.end(), -2.0);
  const int width = static_cast<int>(cells.size());
  fbs::UnaryT absolute;
  absolute.kind = fbs::UnaryKind::Abs;
  const Tensor distance =
      graph.add_op("", absolute, {centre - graph.add_constant("", Shape{1, width}, std::move(cells))});
  // The two pieces of the cubic kernel, |distance| <= 1 and <= 2: each is 0 outside of its interval.
  return polynomial(clamp(distance, 0, 1), {a + 2, -a - 3, 0, 1}) +
         polynomial(clamp(distance, 1, 2), {a, -5 * a, 8 * a, -4 * a});
}

// Repeats the first and the last element along `axis` two more times.
Tensor with_edges(Tensor x, int axis) {
  const Tensor first = slice(x, axis, 0, 1), last = slice(x, axis, x.shape()[axis] - 1, 1);
  return concat({first, first, x, last, last}, axis);
}

}  // namespace

Tensor positions_like(Tensor grid, Tensor like, double offset) {
  if (offset == 0) return to_tokens(resize_like(grid, like, fbs::ResizeKind::Bicubic));
  Graph& graph = *grid.graph;
  const int side = grid.shape()[1], width = channels(grid);
  const Tensor rows = positions_along(like, 1), columns = positions_along(like, 2);
  const Tensor height = count_of(rows), breadth = count_of(columns);
  const Tensor stored = graph.add_constant("", Shape{1, 1}, std::vector<double>{static_cast<double>(side)});
  const Tensor same = binary(fbs::BinaryKind::And, binary(fbs::BinaryKind::Equal, height, stored),
                             binary(fbs::BinaryKind::Equal, breadth, stored));
  fbs::CastT to_number;
  to_number.to = fbs::DType::Float32;
  const Tensor beyond = graph.add_op("", to_number, {same}) * -offset + offset;
  const Tensor table = reshape(with_edges(with_edges(grid, 1), 2), {side + 4, -1});
  const Tensor mixed = matmul(cubic_weights(rows, height, beyond, side), table);
  const Tensor all = matmul(cubic_weights(columns, breadth, beyond, side), reshape(mixed, {0, side + 4, width}));
  return reshape(all, {1, -1, width});
}

Tensor position_table(const Weights& w, int channels, int prefix, Grid to, bool antialias) {
  const int stored = w.stored_shape("")[1] - prefix;
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(stored, 0))));
  const Grid from{side, side};
  // identify matches checkpoints by the size of this table, so a trial run accepts the stored size alone.
  if (from == to || from.size() != stored || w.trying()) return w.parameter({1, prefix + to.size(), channels});
  const Tensor table = w.parameter({1, prefix + stored, channels});
  Graph& graph = *table.graph;
  std::vector<double> values = graph.values(table.id);
  const auto kept = static_cast<std::ptrdiff_t>(prefix) * channels;
  const std::vector<double> resampled =
      resample_bicubic(std::span(values).subspan(static_cast<size_t>(kept)), channels, from, to, antialias);
  values.resize(static_cast<size_t>(kept));
  values.insert(values.end(), resampled.begin(), resampled.end());
  return graph.add_constant(graph.at(table.id).name, {1, prefix + to.size(), channels}, std::move(values));
}

}  // namespace ferry
