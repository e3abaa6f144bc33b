// What fixtures and their checkpoints are made of by the generator of sdk/model/seeded.h: a checkpoint of 100 MB is a
// few hundred rules in a manifest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/model/seeded.h"

namespace ferry::parity {

// How the elements of a float32 tensor follow from its stream.
enum class FillKind {
  Uniform,   // offset + scale * u
  Abs,       // offset + scale * |u|
  Centered,  // scale * (u - the mean of u over the row), rows along dimension 0
};

// `elements` values in row-major order; `rows` is the first dimension. offset and scale hold float32 values.
std::vector<float> fill(FillKind kind, std::string_view name, uint64_t seed, double offset, double scale,
                        int64_t elements, int64_t rows);

// seeded_images() of shape [N,C,H,W].
std::vector<float> input_image(const std::vector<int64_t>& shape, uint64_t seed);

// What an inpainter of shape [N,1+C,H,W] is given: 0.5 where the image is known, and -0.5 in a hole from a quarter of
// the height to its half, from a third of the width on and a quarter of it wide; then seeded_images() of C channels
// within -1..1, times 1 and 0.
std::vector<float> masked_image(const std::vector<int64_t>& shape, uint64_t seed);

// The flat positions at which an entry of `elements` elements is sampled.
std::vector<int64_t> sample_positions(const std::string& entry, int64_t count, int64_t elements);

}  // namespace ferry::parity
