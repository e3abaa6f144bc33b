// The column pass of a resize, on luma and chroma: only the pixels that the crop keeps are converted to RGB. Eight
// lines are filtered together, one per vector lane, so that a weight applies to a whole vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sdk/image/axis.h"

namespace ferry::image {

// Fractional bits of weights for 16-bit sums.
inline constexpr int kWeightBits = 15;
// Fixed-point weights of one output. They add up to 1, so that a sum of equal samples is that sample.
void fixed_weights(const int32_t* weights, int count, int16_t* out);

// kLanes lines of samples, `stride` apart.
struct LineBlock {
  int16_t* samples = nullptr;
  int64_t stride = 0;

  int16_t* line(int i) const { return samples + i * stride; }
};
inline constexpr int kLanes = 8;

// Memory for that many lines.
class LineBuffer {
 public:
  // Allocates only to grow.
  void prepare(int samples, int lines = kLanes) {
    stride_ = samples;
    memory_.resize(static_cast<size_t>(samples) * static_cast<size_t>(lines));
  }
  LineBlock from(int line) { return {memory_.data() + line * stride_, stride_}; }
  int16_t* line(int i) { return from(i).samples; }
  void clear() { std::fill(memory_.begin(), memory_.end(), int16_t{0}); }

 private:
  int64_t stride_ = 0;
  std::vector<int16_t> memory_;
};

// Samples have 16 bits and begin at column first(); spare() samples past the last column are read, but not used.
class PlaneColumns {
 public:
  // Prepares for frames whose crop begins at column `left`. Allocates only to grow.
  void prepare(const Axis& axis, int left);
  // The first of the frame's columns that any output uses; even.
  int first() const { return first_; }
  int last() const { return last_; }
  int spare() const { return columns_.taps + 2 * kLanes; }
  int outputs() const { return outputs_; }
  // Samples per output line, which are written in multiples of kLanes.
  int room() const { return (outputs_ + kLanes - 1) / kLanes * kLanes; }

  // Computes outputs [begin, end), extended to multiples of kLanes: from one sample per column, or one per two columns.
  void each(const LineBlock& lines, int begin, int end, const LineBlock& out) { run(columns_, lines, begin, end, out); }
  void pairs(const LineBlock& lines, int begin, int end, const LineBlock& out) { run(pairs_, lines, begin, end, out); }
  // Changes the column range [*begin, *end), relative to first(), to the range of outputs that use any of them.
  void to_outputs(int* begin, int* end) const;

 private:
  // The first sample and the weights of each output.
  struct Windows {
    int taps = 0;
    std::vector<int32_t> begins;
    std::vector<int16_t> weights;

    void prepare(int taps_of_output, int outputs);
    void set(int output, int begin, int count, const int32_t* from);
  };
  void run(const Windows& windows, const LineBlock& lines, int begin, int end, const LineBlock& out);

  int first_ = 0, last_ = 0, outputs_ = 0;
  bool mirrored_ = false;
  Windows columns_, pairs_;
  std::vector<int32_t> both_;
  std::vector<int16_t> transposed_;  // transposed input: the samples of a column are adjacent
};

}  // namespace ferry::image
