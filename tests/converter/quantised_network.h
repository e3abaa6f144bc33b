// A small network to quantise, and samples for it.
#pragma once

#include <cstring>

#include "converter/quantize/search.h"
#include "tests/converter/pass_network.h"

namespace ferry::int8 {

inline std::vector<Sample> numbered(size_t count) {
  std::vector<Sample> out;
  for (size_t i = 0; i < count; ++i) {
    std::string hash(64, '0');
    hash[0] = static_cast<char>('a' + i * 7 % count);
    out.push_back({.name = "image" + std::to_string(i), .sha256 = hash, .inputs = {}});
  }
  return out;
}

inline constexpr int kSide = 8;

// Two convolutions with a residual addition, SiLU, pooling and a classifier.
inline void build(ferry::Network& n) {
  const Tensor x = n.input({1, kSide, kSide, 3});
  const Tensor a = relu6(n.conv(x, 8, 3, true));
  const Tensor b = n.conv(a, 8, 1, true);
  const Tensor c = silu(a + b);
  n.output(softmax(n.linear(reshape(global_avg_pool(c), {1, 8}), 4)));
}

inline std::vector<Sample> noise_samples(size_t count) {
  std::vector<Sample> out;
  for (size_t s = 0; s < count; ++s) {
    std::vector<float> values;
    for (const double v : noise(kSide * kSide * 3, 0.37 * static_cast<double>(s * s)))
      values.push_back(static_cast<float>(v));
    Sample sample = numbered(count)[s];
    Sample::Input& input = sample.inputs.emplace_back();
    input.shape = Shape{1, kSide, kSide, 3};
    input.bytes.resize(values.size() * sizeof(float));
    std::memcpy(input.bytes.data(), values.data(), input.bytes.size());
    out.push_back(std::move(sample));
  }
  return out;
}

inline Result quantised(ferry::Network& n, const SearchOptions& options = {}) {
  const std::vector<Sample> samples = noise_samples(16);
  std::vector<std::string> notes;
  return quantise(n.graph, split(samples, &notes), options);
}

}  // namespace ferry::int8
