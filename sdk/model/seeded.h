// "cbrng-1": the counter-based generator that defines inputs and sample positions of parity fixtures and certificates.
// Every value is a function of a name, a seed and an index. All arithmetic is exact or rounded once, so every host
// computes the same bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry {

// 64-bit FNV-1a of the string's bytes; `hash` is the hash of preceding bytes.
constexpr uint64_t fnv1a64(std::string_view text, uint64_t hash = 0xcbf29ce484222325u) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// The SplitMix64 finaliser.
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The sequence for one name and seed.
class Stream {
 public:
  Stream(std::string_view name, uint64_t seed) : Stream(fnv1a64(name), seed) {}
  Stream(uint64_t hash, uint64_t seed) : base_(hash ^ mix64(seed)) {}

  uint64_t bits(uint64_t index) const { return mix64(base_ + (index + 1) * 0x9e3779b97f4a7c15u); }
  // In [-2^23, 2^23).
  int64_t integer(uint64_t index) const { return static_cast<int64_t>(bits(index) >> 40) - (int64_t{1} << 23); }
  // In [-1, 1), a multiple of 2^-23.
  double unit(uint64_t index) const { return static_cast<double>(integer(index)) / 8388608.0; }

 private:
  uint64_t base_;
};

// The flat positions at which a fixture's entry is sampled: sample i of n elements is at bits(i) % n, in the source
// framework's layout. `folder` is prepended to the name.
inline Stream sample_stream(std::string_view entry, std::string_view folder = "") {
  return {fnv1a64(entry, fnv1a64(folder, fnv1a64("sample:"))), 0};
}

// Images of coarse tiles and fine noise: 1.5 * u("input.tile") of the 32x32 tile + 0.5 * u("input.noise") of the
// element, both indexed as [N,C,H,W]. Stored so, or as [N,H,W,C].
void seeded_images(uint64_t seed, int64_t n, int64_t channels, int64_t height, int64_t width, bool channels_last,
                   float* out);

}  // namespace ferry
