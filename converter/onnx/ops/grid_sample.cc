// GridSample. With a constant grid it is linear in the input, like Resize, and becomes a linear layer; with a computed
// grid it becomes gathers.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/sample.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxWeight = int64_t{1} << 24;
constexpr double kCubic = -0.75;  // a of Keys' cubic kernel, as in PyTorch

struct Sampler {
  std::string mode, padding;  // "nearest", "linear", "cubic"; "zeros", "border", "reflection"
  bool align_corners = false;

  // Reflects x at both ends, repeatedly.
  double reflect(double x, double low, double high) const {
    const double range = high - low;
    if (range <= 0) return low;
    const double beyond = x < low ? low - x : x > high ? x - high : -1;
    if (beyond < 0) return x;
    const double turns = std::floor(beyond / range), rest = beyond - turns * range;
    const bool from_low = (x < low) == (std::fmod(turns, 2) == 0);
    return from_low ? low + rest : high - rest;
  }

  struct Share {
    int64_t place;
    double weight;
  };

  // Positions and weights along a side of `size` for the grid coordinate `g` in -1..1.
  std::vector<Share> shares(double g, int64_t size) const {
    const auto n = static_cast<double>(size);
    const double low = align_corners ? 0 : -0.5, high = align_corners ? n - 1 : n - 0.5;
    double x = align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    // Of a cubic, only the places of its four values are moved inside.
    if (mode != "cubic" && padding == "border") x = std::clamp(x, 0.0, n - 1);
    if (mode != "cubic" && padding == "reflection") x = reflect(x, low, high);
    std::vector<Share> taps;
    if (mode == "nearest") {
      taps.push_back({to_integer(std::nearbyint(x)), 1});
    } else if (mode == "linear") {
      const double at = std::floor(x);
      taps = {{to_integer(at), 1 - (x - at)}, {to_integer(at) + 1, x - at}};
    } else {
      const double at = std::floor(x);
      for (int i = -1; i <= 2; ++i) {
        const double d = std::fabs(x - at - i);
        const bool near = i == 0 || i == 1;
        taps.push_back({to_integer(at) + i, near ? ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1
                                                 : ((d - 5) * d + 8) * d * kCubic - 4 * kCubic});
      }
    }
    std::vector<Share> inside;
    for (Share s : taps) {
      if (padding == "border") s.place = std::clamp<int64_t>(s.place, 0, size - 1);
      if (padding == "reflection")
        s.place =
            std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<double>(s.place), low, high)), 0, size - 1);
      if (s.place >= 0 && s.place < size && s.weight != 0) inside.push_back(s);
    }
    return inside;
  }

  // Accumulates the weights of grid coordinate `grid` (last side first) over the sides of `dims` from `axis` on.
  void add(double* row, const double* grid, const Dims& dims, size_t axis, int64_t place, double weight) const {
    if (axis == dims.size()) {
      row[place] += weight;
      return;
    }
    for (const Share& s : shares(grid[dims.size() - 1 - axis], dims[axis]))
      add(row, grid, dims, axis + 1, place * dims[axis] + s.place, weight * s.weight);
  }
};

// Converts grid coordinates in -1..1 along a side of `size` to positions.
Tensor positions_of(Tensor grid, const Sampler& s, int64_t size) {
  const auto n = static_cast<double>(size);
  return s.align_corners ? (grid + 1.0) * ((n - 1) / 2) : (grid + 1.0) * (n / 2) + -0.5;
}

// Moves positions inside of a side of `size`, as the padding says; those of "zeros" stay.
Tensor padded(Tensor at, const Sampler& s, int64_t size) {
  const auto n = static_cast<double>(size);
  if (s.padding == "reflection") {
    const double low = s.align_corners ? 0 : -0.5, period = std::max(s.align_corners ? 2 * (n - 1) : 2 * n, 1e-6);
    const Tensor turn = binary(fbs::BinaryKind::Mod, at + -low, scalar(at, period));
    at = binary(fbs::BinaryKind::Min, turn, scalar(at, period) - turn) + low;
  }
  return s.padding == "zeros" ? at : unary(at, fbs::UnaryKind::Clamp, 0, n - 1);
}

// The four neighbours of positions along a side of `size`.
std::vector<Tap> cubic_taps(Tensor at, const Sampler& s, int64_t size) {
  const Tensor first = unary(at, fbs::UnaryKind::Floor), beyond = at - first;
  std::vector<Tap> taps;
  for (int i = -1; i <= 2; ++i) {
    const Tensor d = i <= 0 ? beyond + static_cast<double>(-i) : scalar(beyond, i) - beyond;
    const bool near = i == 0 || i == 1;
    const Tensor share =
        near ? (d * (kCubic + 2) + -(kCubic + 3)) * d * d + 1.0 : ((d + -5.0) * d + 8.0) * d * kCubic + -4 * kCubic;
    const Tensor place = padded(first + static_cast<double>(i), s, size);
    const Tensor inside = unary(place, fbs::UnaryKind::Clamp, 0, static_cast<double>(size - 1));
    taps.push_back({inside, s.padding == "zeros" ? share * is_inside(place, inside) : share});
  }
  return taps;
}

Tensor sampled_at_run_time(Op& op, const Sampler& s) {
  const Dims dims = op.dims(0), grid = op.dims(1);
  if (dims.size() != 4 || grid.size() != 4 || grid[0] != dims[0] || grid[3] != 2)
    op.refuse("a computed grid %s for %s, expected maps and their coordinates", to_string(grid).c_str(),
              to_string(dims).c_str());
  const auto side = [&](int last, int64_t size) {
    return positions_of(reshape_to(ferry::slice(op.tensor(1), 3, last, 1), {grid[0], grid[1] * grid[2]}), s, size);
  };
  const Tensor maps = to_channels_last(op.tensor(0)), y = side(1, dims[2]), x = side(0, dims[3]);
  const auto rounded = [&](Tensor at, int64_t size) {
    return s.mode == "nearest" ? unary(padded(at, s, size), fbs::UnaryKind::Round) : padded(at, s, size);
  };
  const Tensor found = s.mode == "cubic"
                           ? sum_of_taps(op, maps, cubic_taps(y, s, dims[2]), cubic_taps(x, s, dims[3]))
                           : sample(op, maps, rounded(y, dims[2]), rounded(x, dims[3]), s.mode == "nearest");
  return to_channels_first(reshape_to(found, {dims[0], grid[1], grid[2], dims[1]}));
}

}  // namespace

void grid_sample(Op& op) {
  Sampler sampler{op.text("mode", "linear"), op.text("padding_mode", "zeros"), op.integer("align_corners", 0) != 0};
  if (sampler.mode.starts_with("bi")) sampler.mode = sampler.mode.substr(2);  // before opset 20
  if (sampler.mode != "nearest" && sampler.mode != "linear" && sampler.mode != "cubic")
    op.refuse("attribute 'mode' is '%s', expected nearest, linear or cubic", sampler.mode.c_str());
  if (sampler.padding != "zeros" && sampler.padding != "border" && sampler.padding != "reflection")
    op.refuse("attribute 'padding_mode' is '%s', expected zeros, border or reflection", sampler.padding.c_str());
  if (!op.known(1)) return op.set(sampled_at_run_time(op, sampler));
  const Dims dims = op.dims(0);
  const Array& grid = op.array(1, "the grid");
  const size_t sides = dims.size() - 2;
  if (dims.size() < 3 || grid.dims.size() != dims.size() || grid.dims[0] != dims[0] ||
      grid.dims.back() != static_cast<int64_t>(sides))
    op.refuse("the grid %s does not fit %s", to_string(grid.dims).c_str(), to_string(dims).c_str());
  const Dims in(dims.begin() + 2, dims.end()), out(grid.dims.begin() + 1, grid.dims.end() - 1);
  const int64_t places = count_elements(in), outputs = count_elements(out);
  if (places * outputs > kMaxWeight)
    op.refuse("%s is sampled at %s positions: at most 2^24 pairs", to_string(in).c_str(), to_string(out).c_str());
  const std::vector<double> positions = grid.floats();
  if (std::any_of(positions.begin(), positions.end(), [](double g) { return !(std::fabs(g) < 1e6); }))
    op.refuse("the grid has a position beyond 10^6");
  const Tensor x = reshape_to(op.tensor(0), {dims[0], dims[1], places});
  std::vector<Tensor> samples;
  for (int64_t n = 0; n < dims[0]; ++n) {
    std::vector<double> weight(static_cast<size_t>(outputs * places), 0.0);
    for (int64_t o = 0; o < outputs; ++o)
      sampler.add(&weight[static_cast<size_t>(o * places)], &positions[static_cast<size_t>(n * outputs + o) * sides],
                  in, 0, 0, 1);
    const Tensor shares = op.graph().add_constant(
        op.node().name + ".shares", Shape{static_cast<int32_t>(outputs), static_cast<int32_t>(places)}, weight);
    const Tensor sample = dims[0] == 1 ? x : ferry::slice(x, 0, static_cast<int>(n), 1);
    samples.push_back(op.graph().add_op("", fbs::LinearT{}, {sample, shares}));
  }
  Dims to = {dims[0], dims[1]};
  to.insert(to.end(), out.begin(), out.end());
  op.set(reshape_to(samples.size() == 1 ? samples[0] : ferry::concat(samples, 0), to));
}

}  // namespace ferry::onnx
