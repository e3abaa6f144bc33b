// Generates the tensors of fixtures and their checkpoints with the generator of sdk/model/seeded.h. A manifest
// describes a 100 MB checkpoint by a few hundred rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/model/seeded.h"

namespace ferry::parity {

// How a float32 tensor's elements are computed from its stream u.
enum class FillKind {
  Uniform,   // offset + scale * u
  Abs,       // offset + scale * |u|
  Centered,  // scale * (u - mean of u over the row), rows along dimension 0
};

// `elements` values in row-major order; `rows` is the first dimension. offset and scale hold float32 values.
std::vector<float> fill(FillKind kind, std::string_view name, uint64_t seed, double offset, double scale,
                        int64_t elements, int64_t rows);

// seeded_images() of shape [N,C,H,W].
std::vector<float> input_image(const std::vector<int64_t>& shape, uint64_t seed);
// The same of shape [N,H,W,C].
std::vector<float> input_image_channels_last(const std::vector<int64_t>& shape, uint64_t seed);

// The input of an inpainter, of shape [N,1+C,H,W]. The first channel is the mask: 0.5 where the image is known, -0.5 in
// a hole that spans rows H/4 to H/2 and W/4 columns from W/3. The others are seeded_images() within -1..1, zero in the
// hole.
std::vector<float> masked_image(const std::vector<int64_t>& shape, uint64_t seed);

// The flat positions at which an entry of `elements` elements is sampled.
std::vector<int64_t> sample_positions(const std::string& entry, int64_t count, int64_t elements);

}  // namespace ferry::parity
