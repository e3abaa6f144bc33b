#include "cli/parity/generator.h"

#include <cmath>

namespace ferry::parity {

uint64_t fnv1a64(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

namespace {

// (n * s - sum of s over the row) / (n * 2^23) * scale: integers up to the division, so each row sums to nearly zero.
void fill_centered(const Stream& stream, double scale, int64_t rows, std::vector<float>& out) {
  const int64_t n = static_cast<int64_t>(out.size()) / rows;
  const double divisor = static_cast<double>(n << 23);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t sum = 0;
    for (int64_t i = row * n; i < (row + 1) * n; ++i) sum += stream.integer(static_cast<uint64_t>(i));
    for (int64_t i = row * n; i < (row + 1) * n; ++i) {
      const int64_t centered = n * stream.integer(static_cast<uint64_t>(i)) - sum;
      out[static_cast<size_t>(i)] = static_cast<float>(static_cast<double>(centered) / divisor * scale);
    }
  }
}

}  // namespace

std::vector<float> fill(FillKind kind, std::string_view name, uint64_t seed, double offset, double scale,
                        int64_t elements, int64_t rows) {
  const Stream stream(name, seed);
  std::vector<float> out(static_cast<size_t>(elements));
  if (kind == FillKind::Centered) {
    if (elements > 0) fill_centered(stream, scale, rows, out);
    return out;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const double u = stream.unit(i);
    // 24 by 24 bits: the product is exact, so a fused multiply-add gives the same sum.
    out[i] = static_cast<float>(offset + scale * (kind == FillKind::Abs ? std::fabs(u) : u));
  }
  return out;
}

std::vector<float> input_image(const std::vector<int64_t>& shape, uint64_t seed) {
  const Stream tile("input.tile", seed), noise("input.noise", seed);
  const int64_t planes = shape[0] * shape[1], height = shape[2], width = shape[3];
  const int64_t tile_rows = (height + 31) / 32, tile_columns = (width + 31) / 32;
  std::vector<float> out;
  out.reserve(static_cast<size_t>(planes * height * width));
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const int64_t cell = (p * tile_rows + y / 32) * tile_columns + x / 32;
        out.push_back(static_cast<float>(1.5 * tile.unit(static_cast<uint64_t>(cell)) + 0.5 * noise.unit(out.size())));
      }
  return out;
}

std::vector<int64_t> sample_positions(const std::string& entry, int64_t count, int64_t elements) {
  const Stream stream("sample:" + entry, 0);
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int64_t>(stream.bits(i) % static_cast<uint64_t>(elements));
  return out;
}

}  // namespace ferry::parity
