#include "cli/parity/generator.h"

#include <algorithm>
#include <cmath>

namespace ferry::parity {

namespace {

// (n * s - sum of s over the row) / (n * 2^23) * scale. The numerator is an integer, so each row sums to nearly zero.
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
    // A product of two 24-bit numbers is exact, so a fused multiply-add gives the same sum.
    out[i] = static_cast<float>(offset + scale * (kind == FillKind::Abs ? std::fabs(u) : u));
  }
  return out;
}

std::vector<float> input_image(const std::vector<int64_t>& shape, uint64_t seed) {
  std::vector<float> out(static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  seeded_images(seed, shape[0], shape[1], shape[2], shape[3], false, out.data());
  return out;
}

std::vector<float> input_image_channels_last(const std::vector<int64_t>& shape, uint64_t seed) {
  std::vector<float> out(static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  seeded_images(seed, shape[0], shape[3], shape[1], shape[2], true, out.data());
  return out;
}

std::vector<float> masked_image(const std::vector<int64_t>& shape, uint64_t seed) {
  const int64_t channels = shape[1] - 1, height = shape[2], width = shape[3], plane = height * width;
  const std::vector<float> image = input_image({shape[0], channels, height, width}, seed);
  std::vector<float> out;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = -1; c < channels; ++c)
      for (int64_t i = 0; i < plane; ++i) {
        const int64_t y = i / width, x = i % width;
        const bool hole = y >= height / 4 && y < height / 2 && x >= width / 3 && x < width / 3 + width / 4;
        const float known = hole ? 0.0f : 1.0f;
        if (c < 0)
          out.push_back(known - 0.5f);
        else
          out.push_back(std::clamp(image[static_cast<size_t>((n * channels + c) * plane + i)], -1.0f, 1.0f) * known);
      }
  return out;
}

std::vector<int64_t> sample_positions(const std::string& entry, int64_t count, int64_t elements) {
  const Stream stream = sample_stream(entry);
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int64_t>(stream.bits(i) % static_cast<uint64_t>(elements));
  return out;
}

}  // namespace ferry::parity
