// The pass over a frame's columns in luma and chroma, so that what it leaves alone need become colours.
#pragma once

#include <vector>

#include "sdk/image/axis.h"

namespace ferry::image {

// Weights of sums in 16 bits have so many after the point.
inline constexpr int kWeightBits = 15;
// An output's, so that they add up to 1: a sum of equal samples is that sample.
void fixed_weights(const int32_t* weights, int count, int16_t* out);

// Samples are of 16 bits and begin with first(); spare() more than there are columns are read and do not count.
class PlaneColumns {
 public:
  // For frames whose part begins at column `left`. Takes memory only where more is needed than before.
  void prepare(const Axis& axis, int left);
  // The frame's columns that count for any output, from an even one on.
  int first() const { return first_; }
  int last() const { return last_; }
  int spare() const { return static_cast<int>(columns_.taps); }
  int outputs() const { return static_cast<int>(columns_.begins.size()); }

  // Outputs [begin, end) of a sample for each column, and of one for each two.
  void each(const int16_t* samples, int begin, int end, int16_t* out) const { columns_.run(samples, begin, end, out); }
  void pairs(const int16_t* samples, int begin, int end, int16_t* out) const { pairs_.run(samples, begin, end, out); }
  // Moves [*begin, *end) to the outputs for which any of those columns counts, which are counted from first().
  void to_outputs(int* begin, int* end) const;

 private:
  // For each output: where its samples begin, and their weights up to a vector's end.
  struct Windows {
    size_t taps = 0;
    std::vector<int32_t> begins;
    std::vector<int16_t> weights;

    void prepare(int taps_of_output, int outputs);
    int16_t* of(int output) { return weights.data() + static_cast<size_t>(output) * taps; }
    void run(const int16_t* samples, int begin, int end, int16_t* out) const;
  };

  int first_ = 0, last_ = 0;
  bool mirrored_ = false;
  Windows columns_, pairs_;
  std::vector<int32_t> both_;
};

}  // namespace ferry::image
