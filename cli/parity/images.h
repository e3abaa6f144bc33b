// A blob that reads text with images (sdk/schema/text.fbs, `Images`): a fixture is about the graph that sees one
// image, run for each of them, and about the first graph, which takes what they gave.
#pragma once

#include <optional>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "sdk/model/model.h"
#include "text_generated.h"

namespace ferry::parity {

// What the blob's text says of images; null where it reads text alone. Throws Error where it is damaged.
const fbs::Images* images_of(const fbs::Graph& root);
// The number of the graph that sees.
size_t vision_graph(const fbs::Graph& root, const fbs::Images& images);

// The fixture as the vision graph sees it, for each image of `pixel_values` [P,C], which come one after the other, of
// `image_grid_thw` [images,3] patches. Throws Error where the two do not agree, and for images in several frames.
std::vector<Fixture> of_each_image(const fbs::Images& images, const Fixture& fixture);

// The fixture as the first graph sees it; `features`: what the vision graph gave for each image.
Fixture with_images(const fbs::Images& images, const Fixture& fixture, const std::vector<Computed>& features);

// Of two images, one after the other: what was computed of their patches [...,P,C].
Computed joined(const Computed& first, const Computed& second);

}  // namespace ferry::parity
