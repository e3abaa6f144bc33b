#include "models/blocks/position_embedding.h"

#include <algorithm>
#include <cmath>

namespace ferry {
namespace {

// Where a place of the new axis lies on the old one: the places around it and how they weigh.
struct Taps {
  std::vector<int> place;
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
  for (int place = left - 1; place <= left + 2; ++place) {
    taps.place.push_back(std::clamp(place, 0, from - 1));
    taps.weight.push_back(cubic(-0.75, source - place));
  }
  return taps;
}

Taps antialiased(int i, int from, int to) {
  const double stretch = std::max(1.0, static_cast<double>(from) / to), centre = (i + 0.5) * from / to;
  const int first = std::max(static_cast<int>(centre - 2 * stretch + 0.5), 0);
  const int end = std::min(static_cast<int>(centre + 2 * stretch + 0.5), from);
  Taps taps;
  double sum = 0;
  for (int place = first; place < end; ++place) {
    taps.place.push_back(place);
    taps.weight.push_back(cubic(-0.5, (place + 0.5 - centre) / stretch));
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
  double* place = out.data();
  for (const Taps& row : rows) {
    for (const Taps& column : columns) {
      for (size_t i = 0; i < row.place.size(); ++i) {
        for (size_t k = 0; k < column.place.size(); ++k) {
          const double* source = &table[static_cast<size_t>(row.place[i] * from.width + column.place[k]) * width];
          const double weight = row.weight[i] * column.weight[k];
          for (size_t c = 0; c < width; ++c) place[c] += weight * source[c];
        }
      }
      place += width;
    }
  }
  return out;
}

Tensor position_table(const Weights& w, int channels, int prefix, Grid to, bool antialias) {
  const int stored = w.stored_shape("")[1] - prefix;
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(stored, 0))));
  const Grid from{side, side};
  // A checkpoint tells its architecture by the size of this table: only the size it was made for counts as a fit.
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
