// Fixtures of blobs that read text with images (sdk/schema/text.fbs, `Images`). Such a fixture covers two graphs: the
// vision graph, run once per image, and the first graph, which reads the results.
#pragma once

#include <optional>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "sdk/model/model.h"
#include "text_generated.h"

namespace ferry::parity {

// The blob's description of images in a text; null if it reads text only. Throws Error if it is damaged.
const fbs::Images* images_of(const fbs::Graph& root);
// The index of the vision graph.
size_t vision_graph(const fbs::Graph& root, const fbs::Images& images);

// The vision graph's fixture for each image. `pixel_values` [P,C] holds the images' patches one image after the other,
// `image_grid_thw` [images,3] their grids. Throws Error if the two disagree or an image has several frames.
std::vector<Fixture> of_each_image(const fbs::Images& images, const Fixture& fixture);

// The first graph's fixture. `features`: the vision graph's outputs for each image.
Fixture with_images(const fbs::Images& images, const Fixture& fixture, const std::vector<Computed>& features);

// Concatenates two images' values along the patches, [...,P,C].
Computed joined(const Computed& first, const Computed& second);

}  // namespace ferry::parity
