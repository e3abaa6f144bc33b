// Small blobs for tests, which between them hold every operator, and ways to damage them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::testing {

// Bytes that begin at a multiple of 64, as open_memory() wants them, in an allocation of exactly their size: what reads
// past the end is seen by AddressSanitizer.
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

// A multiple of 2^-10 on [-0.5, 0.5), exact in half precision, that depends on `seed` and `i` alone.
float noise(uint32_t seed, uint32_t i);

// input [1,8,8,3] -> logits [1,5]: convolutions (plain, depthwise), pools, a residual sum, a linear; recipe, labels,
// provenance, taps.
std::unique_ptr<Graph> small_classifier();
// input [1,6,7,3] -> output [1,12,14,3]: PReLU, leaky ReLU, pixel shuffle, both resizes.
std::unique_ptr<Graph> small_upscaler();
// a [1,4,6], b [1,4,6] -> [1,8,3] and [24]: reshape, transpose, slice, pad, concat, softmax and every kind of
// elementwise operator.
std::unique_ptr<Graph> small_mixture();

// x [1,4,5,6] -> y [1,14,15,4]: transposed convolutions: with output padding, depthwise, grouped and dilated.
std::unique_ptr<Graph> small_decoder();

// a [2,1,10,6], b [3,6,7] -> rows [2,3,4,5] and columns [2,3,4,1]: products of activations that broadcast, either side
// transposed.
std::unique_ptr<Graph> small_products();

// ids [1,L], L up to 16 -> logits [1,L,11]: two layers of a language model with keys and values as states of up to 24
// tokens; and in the graph "states" of the same blob the last layer's output [1,L,16] instead.
std::unique_ptr<Graph> small_transformer();

// The same with L up to 200, states of up to 400 tokens, and attention that sees a window of 5; `forgets`: so do the
// states.
std::unique_ptr<Graph> small_window(bool forgets = true);

// ids [1,L], L up to 100 -> logits [1,L,11] and places [L]: a convolution over time and a gated delta rule of 4 heads
// on 2 of keys, whose states "inputs" and "memory" are of fixed size.
std::unique_ptr<Graph> small_recurrent(int32_t value_size = 6);

// ids [1,3] -> logits [1,3,11]: an embedding of Int8 that is tied to the head, a linear of Int4 and one of Int8.
std::unique_ptr<Graph> small_integers();

struct Named {
  const char* name;
  std::vector<std::byte> blob;
};
// All of them, packed.
std::vector<Named> small_blobs();

// A blob of this flatbuffer and these segments, whatever they say.
std::vector<std::byte> assemble(std::span<const uint8_t> graph, std::span<const std::byte> data, uint32_t version = 1);

// A blob taken apart, to be changed and put together without anybody verifying the result.
struct Parts {
  explicit Parts(std::span<const std::byte> blob);
  std::vector<std::byte> assemble() const;

  fbs::GraphT model;
  std::vector<std::byte> data;
  uint32_t version;  // of the format
};

}  // namespace ferry::testing
