// The depthwise convolution of depthwise.h, written once for several instruction sets. A file that includes this
// defines FERRY_INT8_VECTORS, the attribute of functions with its instructions, and types V with:
//
//     kBytes           bytes per vector, which is also the number of channels per block
//     kFlip            the inputs are made unsigned by adding 128
//     kMagnitudes      a weight is its magnitude and a mask, all ones if it is negative
//     Bytes, Ints, Floats, Words, Weight
//     load(), dot(), in_register(), rounded(), narrowed(), bytes_of(), store()
#pragma once

#include <algorithm>
#include <cstring>

#include "sdk/cpu/int8/depthwise.h"

namespace ferry::cpu {
namespace {

constexpr size_t kPixels = 4;  // per call of the innermost kernel
constexpr size_t kArray = 5;   // of a vector for each pixel: on arm64 gcc 12 keeps 4 in consecutive registers

template <class V>
constexpr size_t kWeightBytes = V::kBytes*(V::kMagnitudes ? 2 : 1);

// Interleaved rows are in vectors of four: channel i of a block is 32-bit lane lane_of(i) % (kBytes / 4) of vector
// lane_of(i) / (kBytes / 4), since x86 interleaves 16 bytes by themselves.
template <class V>
constexpr size_t lane_of(size_t channel) {
  return channel % 16 / 4 * (V::kBytes / 4) + channel / 16 * 4 + channel % 4;
}

struct RowGroups {
  size_t quads, rows;  // quads of input rows that are interleaved; output rows
  explicit RowGroups(const Int8DepthwiseShape& shape)
      : quads((shape.kernel + 3) / 4), rows(int8_depthwise_group(shape)) {}
};

// Packed weights of a block: biases and multipliers, four vectors each, then for each output row of a group, each of
// four vectors of channels, each quad of input rows and each column of the kernel: the weights of four rows.
template <class V>
size_t block_bytes(const Int8DepthwiseShape& shape) {
  const RowGroups groups(shape);
  return 8 * V::kBytes + groups.rows * 4 * groups.quads * shape.kernel * kWeightBytes<V>;
}

// Packs `count` channels from `channel`.
template <class V>
[[gnu::cold]] void pack_block(const Int8DepthwiseShape& shape, const Int8DepthwiseWeights& weights, size_t channel,
                              size_t count, std::byte* to) {
  const RowGroups groups(shape);
  const size_t k = shape.kernel;
  std::memset(to, 0, block_bytes<V>(shape));
  auto* const biases = reinterpret_cast<int32_t*>(to);
  auto* const multipliers = reinterpret_cast<float*>(to + 4 * V::kBytes);
  auto* const packed = reinterpret_cast<uint8_t*>(to + 8 * V::kBytes);
  for (size_t c = 0; c < count; ++c) {
    const int8_t* const weight = weights.weight + (channel + c) * k * k;
    const size_t lane = lane_of<V>(c), vector = lane / (V::kBytes / 4), byte = lane % (V::kBytes / 4) * 4;
    int32_t sum = 0, complements = 0;
    for (size_t i = 0; i < k * k; ++i) {
      sum += weight[i];
      if (V::kMagnitudes && weight[i] < 0) complements -= weight[i];  // x w = |w| (~x + 1)
    }
    // Sums wrap around.
    const auto bias = static_cast<uint32_t>(weights.bias != nullptr ? weights.bias[channel + c] : 0);
    const int32_t products = complements - (weights.zero_point + (V::kFlip ? 128 : 0)) * sum;
    biases[lane] = static_cast<int32_t>(bias + static_cast<uint32_t>(products));
    multipliers[lane] = weights.multipliers[channel + c];
    for (size_t row = 0; row < groups.rows; ++row)
      for (size_t y = 0; y < k; ++y)
        for (size_t x = 0; x < k; ++x) {
          const size_t line = row * shape.stride + y;  // of those that are interleaved
          uint8_t* const at =
              packed + (((row * 4 + vector) * groups.quads + line / 4) * k + x) * kWeightBytes<V> + byte + line % 4;
          const int value = weight[y * k + x];
          *at = static_cast<uint8_t>(V::kMagnitudes && value < 0 ? -value : value);
          if (V::kMagnitudes && value < 0) at[V::kBytes] = 0xff;
        }
  }
}

// Interleaves `columns` columns from column `left` of four lines; null for a line of padding. `count` channels exist.
template <class V>
FERRY_INT8_VECTORS void interleave(const int8_t* const (&lines)[4], int64_t left, int64_t columns, int64_t width,
                                   size_t channels, size_t count, int8_t padding, int8_t* to) {
  const int8_t* from[4];
  size_t step[4];
  alignas(64) int8_t pads[V::kBytes];
  std::memset(pads, padding, sizeof pads);
  const int64_t begin = std::max<int64_t>(left, 0), end = std::clamp(left + columns, begin, std::max(width, begin));
  for (size_t i = 0; i < 4; ++i) {
    from[i] = lines[i] == nullptr ? pads : lines[i] + static_cast<size_t>(begin) * channels;
    step[i] = lines[i] == nullptr ? 0 : channels;
  }
  const typename V::Bytes outside = V::flipped(V::load(pads));
  for (int64_t i = left; i < left + columns; ++i, to += 4 * V::kBytes) {
    if (i < begin || i >= end) {
      for (size_t j = 0; j < 4; ++j) V::store(to + j * V::kBytes, outside);
      continue;
    }
    typename V::Bytes rows[4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      rows[j] = V::flipped(V::load(from[j], count));
      from[j] += step[j];
    }
    V::interleave(rows, to);
  }
}

struct RowOutput {
  int32_t zero_point, low, high;
  size_t step;   // from pixel to pixel
  size_t count;  // channels
};

// Bytes from one quad of interleaved lines to the next.
template <size_t K>
constexpr size_t kPlane = kInt8DepthwiseScratch / ((K + 3) / 4);

// Where the innermost kernel reads.
struct Window {
  const int8_t* pixels[kPixels];  // the first column of each, interleaved
  const std::byte *constants, *weights;
};

// Vector `vector` of the channels of neighbouring pixels, in units of the output's scale. gcc unrolls no loop around
// this.
template <class V, size_t K>
FERRY_INT8_VECTORS [[gnu::always_inline]] inline void compute_vector(const Window& window, size_t vector,
                                                                     const typename V::Rounding& rounding,
                                                                     typename V::Ints (&values)[kArray]) {
  constexpr size_t kQuads = (K + 3) / 4;
  const auto bias = V::load_ints(window.constants + vector * V::kBytes);
#pragma GCC unroll 4
  for (size_t p = 0; p < kPixels; ++p) values[p] = bias;
#pragma GCC unroll 2
  for (size_t q = 0; q < kQuads; ++q)
#pragma GCC unroll 5
    for (size_t k = 0; k < K; ++k) {
      const auto weight = V::load_weight(window.weights + ((vector * kQuads + q) * K + k) * kWeightBytes<V>);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPixels; ++p) {
        const auto x = V::load(window.pixels[p] + q * kPlane<K> + (k * 4 + vector) * V::kBytes);
        values[p] = V::dot(values[p], x, weight);
      }
#pragma GCC unroll 4
      for (size_t p = 0; p < kPixels; ++p)
        V::in_register(values[p]);  // in this order: gcc would load all columns first
    }
  const auto multiplier = V::load_floats(window.constants + (4 + vector) * V::kBytes);
#pragma GCC unroll 4
  for (size_t p = 0; p < kPixels; ++p) values[p] = rounding.rounded(values[p], multiplier);
}

template <class V, size_t K>
FERRY_INT8_VECTORS [[gnu::always_inline]] inline void compute_half(const Window& window, size_t half,
                                                                   const typename V::Rounding& rounding,
                                                                   typename V::Words (&words)[kArray]) {
  typename V::Ints first[kArray], second[kArray];
  compute_vector<V, K>(window, 2 * half, rounding, first);
  compute_vector<V, K>(window, 2 * half + 1, rounding, second);
#pragma GCC unroll 4
  for (size_t p = 0; p < kPixels; ++p) words[p] = rounding.narrowed(first[p], second[p]);
}

// Computes `pixels` pixels of an output row. x: interleaved lines, `step` bytes from pixel to pixel. The constants and
// the weights are those of a block and of the row.
template <class V, size_t K>
FERRY_INT8_VECTORS void compute_row(const int8_t* x, size_t step, const std::byte* constants, const std::byte* weights,
                                    const RowOutput& output, int8_t* y, size_t pixels) {
  const typename V::Rounding rounding(output.zero_point, output.low, output.high);
  const size_t y_step = output.step, count = output.count;
  Window window{{}, constants, weights};
  for (size_t done = 0; done < pixels; done += kPixels) {
    const size_t first = pixels < kPixels ? 0 : std::min(done, pixels - kPixels);  // the last four overlap
#pragma GCC unroll 4
    for (size_t p = 0; p < kPixels; ++p) {
      window.pixels[p] = x + (first + p) * step;
      asm("" : "+r"(window.pixels[p]));  // otherwise gcc keeps the address of each column
    }
    typename V::Words words[2][kArray];
    compute_half<V, K>(window, 0, rounding, words[0]);
    compute_half<V, K>(window, 1, rounding, words[1]);
    int8_t* to = y + first * y_step;
#pragma GCC unroll 4
    for (size_t p = 0; p < kPixels; ++p, to += y_step)
      if (p < pixels) V::store(to, rounding.bytes_of(words[0][p], words[1][p]), count);
  }
}

// Computes `count` channels from `channel`: a block.
template <class V>
FERRY_INT8_VECTORS void compute_block(const Int8DepthwiseShape& shape, const std::byte* packed,
                                      const Int8DepthwiseRows& rows, size_t channel, size_t count) {
  const RowGroups groups(shape);
  const auto k = static_cast<int64_t>(shape.kernel), stride = static_cast<int64_t>(shape.stride);
  const auto group = static_cast<int64_t>(groups.rows);
  const size_t plane = kInt8DepthwiseScratch / groups.quads,
               row_weights = 4 * groups.quads * shape.kernel * kWeightBytes<V>;
  const int64_t maximum = static_cast<int64_t>(plane / (4 * V::kBytes));  // columns that are interleaved at once
  const int64_t tile = ((maximum - k) / stride + 1) / static_cast<int64_t>(kPixels) * static_cast<int64_t>(kPixels);
  auto* const scratch = static_cast<int8_t*>(rows.scratch);
  const RowOutput output{rows.out_zero_point, rows.low, rows.high, shape.channels, count};
  const auto compute = shape.kernel == 3 ? compute_row<V, 3> : compute_row<V, 5>;
  for (int64_t row = rows.from; row < rows.to; row += group) {
    const int64_t end = std::min(row + group, rows.to), top = row * stride - rows.pad_top;
    const int64_t bottom = std::min((end - 1) * stride - rows.pad_top + k, rows.height);
    for (int64_t column = 0; column < rows.out_width; column += tile) {
      const int64_t pixels = std::min(tile, rows.out_width - column);
      const int64_t columns = (std::max(pixels, static_cast<int64_t>(kPixels)) - 1) * stride + k;
      for (size_t quad = 0; quad < groups.quads; ++quad) {
        const int8_t* lines[4];
        for (size_t i = 0; i < 4; ++i) {
          const int64_t line = top + static_cast<int64_t>(quad * 4 + i);
          lines[i] = line < 0 || line >= bottom
                         ? nullptr
                         : rows.x + static_cast<size_t>((line - rows.first) * rows.width) * shape.channels + channel;
        }
        interleave<V>(lines, column * stride - rows.pad_left, columns, rows.width, shape.channels, count,
                      static_cast<int8_t>(rows.zero_point), scratch + quad * plane);
      }
      for (int64_t i = row; i < end; ++i) {
        const std::byte* const weights = packed + 8 * V::kBytes + static_cast<size_t>(i - row) * row_weights;
        int8_t* const y =
            rows.y + static_cast<size_t>((i - rows.from) * rows.out_width + column) * shape.channels + channel;
        compute(scratch, shape.stride * 4 * V::kBytes, packed, weights, output, y, static_cast<size_t>(pixels));
      }
    }
  }
}

// Blocks of vectors W; the last has vectors H of half as many bytes where they suffice.
template <class W, class H>
struct Blocks {
  static size_t count(const Int8DepthwiseShape& shape) { return (shape.channels + W::kBytes - 1) / W::kBytes; }

  static size_t bytes(const Int8DepthwiseShape& shape) { return count(shape) * block_bytes<W>(shape); }

  [[gnu::cold]] static void pack(const Int8DepthwiseShape& shape, const Int8DepthwiseWeights& weights, void* packed) {
    auto* to = static_cast<std::byte*>(packed);
    for (size_t channel = 0; channel < shape.channels; channel += W::kBytes, to += block_bytes<W>(shape)) {
      const size_t some = std::min(W::kBytes, shape.channels - channel);
      std::memset(to, 0, block_bytes<W>(shape));
      (some <= H::kBytes ? pack_block<H> : pack_block<W>)(shape, weights, channel, some, to);
    }
  }

  static void compute(const Int8DepthwiseShape& shape, const void* packed, const Int8DepthwiseRows& rows) {
    for (size_t block = rows.first_block; block < rows.end_block; ++block) {
      const size_t channel = block * W::kBytes, some = std::min(W::kBytes, shape.channels - channel);
      const auto* const from = static_cast<const std::byte*>(packed) + block * block_bytes<W>(shape);
      (some <= H::kBytes ? compute_block<H> : compute_block<W>)(shape, from, rows, channel, some);
    }
  }

  static constexpr Int8DepthwiseKernel kernel(const char* layout) { return {layout, count, bytes, pack, compute}; }
};

}  // namespace
}  // namespace ferry::cpu
