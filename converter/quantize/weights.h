// Weights as 8-bit integers with a scale per output channel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ferry::int8 {

struct Weight {
  size_t channels = 0, width = 0;  // output channels, and the elements of each
  std::vector<int8_t> integers;    // -127 to 127; with a zero point -128 to 127
  std::vector<float> scales;       // by channel
  std::vector<double> bias;        // by channel, real
  int32_t zero_point = 0;          // not 0 only of recover_integers()
  size_t rounded = 0;              // channels of recover_integers() whose integers did not fit

  double real(size_t channel, size_t element) const {
    return (integers[channel * width + element] - zero_point) * static_cast<double>(scales[channel]);
  }
};

// Rounds to nearest, ties to even; a channel's scale is its absolute maximum / 127. `bias`: empty for none.
// Throws Error with `name` if a value is not finite.
Weight quantise_to_nearest(std::span<const double> values, size_t channels, std::vector<double> bias,
                           const std::string& name);

// The step of which all `values` are whole multiples, at most 255 of either sign, within float32's rounding: the scale
// of integers that a file stores. 0 if there is none; 1 if all are 0.
double step_of(std::span<const double> values);

// The weight that a file stored as 8-bit integers, from their real values: with a zero point if multiples of a
// channel's step are beyond 127. If no zero point serves all channels, as where a file has one per channel, such
// multiples are clipped, or the channel gets a scale of its own: what is less wrong. nullopt if a channel has no step,
// or a value is not finite.
std::optional<Weight> recover_integers(std::span<const double> values, size_t channels, std::vector<double> bias);

// A weight between activations of these scales, as a blob stores it: bias[o] has the scale input * scales[o]. Scales of
// channels whose bias or multiplier (docs/format.md) would leave its range are larger than the weight's.
struct ChannelScales {
  std::vector<int8_t> integers;
  std::vector<float> scales;
  std::vector<int32_t> bias;
};
ChannelScales channel_scales(const Weight& weight, float input, float output);

// Whether every channel's multiplier is in the range of the arithmetic (docs/format.md).
bool representable(const Weight& weight, float input, float output);

}  // namespace ferry::int8
