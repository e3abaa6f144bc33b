// The pass over a frame's columns in luma and chroma, so that what it leaves alone need become colours. Eight lines go
// through it side by side: a weight counts for a vector of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sdk/image/axis.h"

namespace ferry::image {

// Weights of sums in 16 bits have so many after the point.
inline constexpr int kWeightBits = 15;
// An output's, so that they add up to 1: a sum of equal samples is that sample.
void fixed_weights(const int32_t* weights, int count, int16_t* out);

// Eight lines of samples, `stride` of them apart.
struct Eight {
  int16_t* samples = nullptr;
  int64_t stride = 0;

  int16_t* line(int i) const { return samples + i * stride; }
};
inline constexpr int kEight = 8;

// Memory of so many lines or more.
class LineBuffer {
 public:
  // Takes memory only where more is needed than before.
  void prepare(int samples, int lines = kEight) {
    stride_ = samples;
    memory_.resize(static_cast<size_t>(samples) * static_cast<size_t>(lines));
  }
  Eight from(int line) { return {memory_.data() + line * stride_, stride_}; }
  int16_t* line(int i) { return from(i).samples; }
  void clear() { std::fill(memory_.begin(), memory_.end(), int16_t{0}); }

 private:
  int64_t stride_ = 0;
  std::vector<int16_t> memory_;
};

// Samples are of 16 bits and begin with first(); spare() more than there are columns are read and do not count.
class PlaneColumns {
 public:
  // For frames whose part begins at column `left`. Takes memory only where more is needed than before.
  void prepare(const Axis& axis, int left);
  // The frame's columns that count for any output, from an even one on.
  int first() const { return first_; }
  int last() const { return last_; }
  int spare() const { return columns_.taps + 2 * kEight; }
  int outputs() const { return outputs_; }
  // Samples of a line of outputs: they are written by eights.
  int room() const { return (outputs_ + kEight - 1) / kEight * kEight; }

  // Outputs [begin, end), and what an eight has beside them, of a sample for each column, and of one for each two.
  void each(const Eight& lines, int begin, int end, const Eight& out) { run(columns_, lines, begin, end, out); }
  void pairs(const Eight& lines, int begin, int end, const Eight& out) { run(pairs_, lines, begin, end, out); }
  // Moves [*begin, *end) to the outputs for which any of those columns counts, which are counted from first().
  void to_outputs(int* begin, int* end) const;

 private:
  // For each output: where its samples begin, and their weights.
  struct Windows {
    int taps = 0;
    std::vector<int32_t> begins;
    std::vector<int16_t> weights;

    void prepare(int taps_of_output, int outputs);
    void set(int output, int begin, int count, const int32_t* from);
  };
  void run(const Windows& windows, const Eight& lines, int begin, int end, const Eight& out);

  int first_ = 0, last_ = 0, outputs_ = 0;
  bool mirrored_ = false;
  Windows columns_, pairs_;
  std::vector<int32_t> both_;
  std::vector<int16_t> turned_;  // lines' samples of a column side by side
};

}  // namespace ferry::image
