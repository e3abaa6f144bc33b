#include "models/blocks/position_embedding.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ferry {
namespace {

// Where a place of the new axis lies on the old one, and how the four places around it weigh.
struct Taps {
  std::array<int, 4> place;
  std::array<double, 4> weight;
};

std::vector<Taps> axis_taps(int from, int to) {
  constexpr double a = -0.75;
  const auto near = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };       // at most 1 away
  const auto far = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };  // 1 to 2 away
  std::vector<Taps> taps;
  for (int i = 0; i < to; ++i) {
    const double source = (i + 0.5) * from / to - 0.5;
    const int left = static_cast<int>(std::floor(source));
    const double t = source - left;
    Taps here{{}, {far(1 + t), near(t), near(1 - t), far(2 - t)}};
    for (int k = 0; k < 4; ++k) here.place[static_cast<size_t>(k)] = std::clamp(left - 1 + k, 0, from - 1);
    taps.push_back(here);
  }
  return taps;
}

}  // namespace

std::vector<double> resample_bicubic(std::span<const double> table, int channels, Grid from, Grid to) {
  const std::vector<Taps> rows = axis_taps(from.height, to.height), columns = axis_taps(from.width, to.width);
  const size_t width = static_cast<size_t>(channels);
  std::vector<double> out(static_cast<size_t>(to.size()) * width, 0.0);
  double* place = out.data();
  for (const Taps& row : rows) {
    for (const Taps& column : columns) {
      for (size_t i = 0; i < 4; ++i) {
        for (size_t k = 0; k < 4; ++k) {
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

Tensor position_table(const Weights& w, std::string_view leaf, int channels, int prefix, Grid to) {
  const int stored = w.stored_shape(leaf)[1] - prefix;
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(stored, 0))));
  const Grid from{side, side};
  // A checkpoint tells its architecture by the size of this table: only the size it was made for counts as a fit.
  if (from == to || from.size() != stored || w.trying()) return w(leaf, {1, prefix + to.size(), channels});
  const Tensor table = w(leaf, {1, prefix + stored, channels});
  Graph& graph = *table.graph;
  std::vector<double> values = graph.values(table.index);
  const auto kept = static_cast<std::ptrdiff_t>(prefix) * channels;
  const std::vector<double> resampled =
      resample_bicubic(std::span(values).subspan(static_cast<size_t>(kept)), channels, from, to);
  values.resize(static_cast<size_t>(kept));
  values.insert(values.end(), resampled.begin(), resampled.end());
  return graph.add_constant(graph.at(table.index).name, {1, prefix + to.size(), channels}, std::move(values));
}

}  // namespace ferry
