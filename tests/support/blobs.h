// Small blobs for tests that together contain every operator, and ways to damage them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::testing {

// Bytes aligned to 64, as open_memory() requires, in an allocation of exactly their size, so that AddressSanitizer sees
// reads past the end.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::span<const std::byte> bytes);
  ~AlignedBytes();
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;

  std::byte* data() { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_;
  size_t size_;
};

// A multiple of 2^-10 in [-0.5, 0.5), exact in float16, that depends only on `seed` and `i`.
float noise(uint32_t seed, uint32_t i);

// input [1,8,8,3] -> logits [1,5]: convolutions (plain, depthwise), pools, a residual sum, a linear; preprocessing,
// labels, provenance, taps.
std::unique_ptr<Graph> small_classifier();
// input [1,6,7,3] -> output [1,12,14,3]: PReLU, leaky ReLU, pixel shuffle, both resizes.
std::unique_ptr<Graph> small_upscaler();
// a [1,4,6], b [1,4,6] -> [1,8,3] and [24]: reshape, transpose, slice, pad, concat, softmax and every kind of
// elementwise operator.
std::unique_ptr<Graph> small_mixture();

// x [1,4,5,6] -> y [1,14,15,4]: transposed convolutions: with output padding, depthwise, grouped and dilated.
std::unique_ptr<Graph> small_decoder();

// a [2,1,10,6], b [3,6,7] -> rows [2,3,4,5] and columns [2,3,4,1]: broadcast products of activations, with either side
// transposed.
std::unique_ptr<Graph> small_products();

// ids [1,L], L up to 16 -> logits [1,L,11]: two layers of a language model with keys and values as states of up to 24
// tokens. The graph "states" of the same blob returns the last layer's output [1,L,16].
std::unique_ptr<Graph> small_transformer();

// The same with L up to 200, states of up to 400 tokens, and an attention window of 5. `forgets`: the states have the
// window too.
std::unique_ptr<Graph> small_window(bool forgets = true);

// ids [1,L], L up to 100 -> logits [1,L,11] and places [L]: a convolution over time and a gated delta rule with 4 heads
// on 2 key heads. Its states "inputs" and "memory" have a fixed size.
std::unique_ptr<Graph> small_recurrent(int32_t value_size = 6);

// ids [1,3] -> logits [1,3,11]: an Int8 embedding tied to the head, an Int4 linear and an Int8 linear.
std::unique_ptr<Graph> small_integers();

struct Named {
  const char* name;
  std::vector<std::byte> blob;
};
// All of them, packed.
std::vector<Named> small_blobs();

// A blob of this flatbuffer and these segments, without verification.
std::vector<std::byte> assemble(std::span<const uint8_t> graph, std::span<const std::byte> data, uint32_t version = 1);

// A blob taken apart, to be changed and put together without verification.
struct Parts {
  explicit Parts(std::span<const std::byte> blob);
  std::vector<std::byte> assemble() const;

  fbs::GraphT model;
  std::vector<std::byte> data;
  uint32_t version;  // of the format
};

}  // namespace ferry::testing
