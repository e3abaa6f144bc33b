// "cbrng-1": the counter-based generator that fixtures and their checkpoints are made with. Every value is a function of
// a name, a seed and an index, so that a checkpoint of 100 MB is a few hundred rules in a manifest. All arithmetic is
// exact or rounded once, hence the same bits on every host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferry::parity {

// 64-bit FNV-1a of the string's bytes.
uint64_t fnv1a64(std::string_view text);
// The SplitMix64 finaliser.
uint64_t mix64(uint64_t z);

// The sequence of one name under one seed.
class Stream {
 public:
  Stream(std::string_view name, uint64_t seed) : base_(fnv1a64(name) ^ mix64(seed)) {}

  uint64_t bits(uint64_t index) const { return mix64(base_ + (index + 1) * 0x9e3779b97f4a7c15u); }
  // In [-2^23, 2^23).
  int64_t integer(uint64_t index) const { return static_cast<int64_t>(bits(index) >> 40) - (int64_t{1} << 23); }
  // In [-1, 1), a multiple of 2^-23.
  double unit(uint64_t index) const { return static_cast<double>(integer(index)) / 8388608.0; }

 private:
  uint64_t base_;
};

// How the elements of a float32 tensor follow from its stream.
enum class FillKind {
  Uniform,   // offset + scale * u
  Abs,       // offset + scale * |u|
  Centered,  // scale * (u - the mean of u over the row), rows along dimension 0
};

// `elements` values in row-major order; `rows` is the first dimension. offset and scale hold float32 values.
std::vector<float> fill(FillKind kind, std::string_view name, uint64_t seed, double offset, double scale,
                        int64_t elements, int64_t rows);

// A picture of coarse tiles and fine noise, shape [N,C,H,W]:
// 1.5 * u("input.tile") of the 32x32 tile + 0.5 * u("input.noise") of the element.
std::vector<float> input_image(const std::vector<int64_t>& shape, uint64_t seed);

// The flat positions at which an entry of `elements` elements is sampled.
std::vector<int64_t> sample_positions(const std::string& entry, int64_t count, int64_t elements);

}  // namespace ferry::parity
