// A blob that reads text with pictures (sdk/schema/text.fbs, `Pictures`): a fixture is about the graph that sees one
// picture, run for each of them, and about the first graph, which takes what they gave.
#pragma once

#include <optional>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "sdk/model/model.h"
#include "text_generated.h"

namespace ferry::parity {

// What the blob's text says of pictures; null where it reads text alone. Throws Error where it is damaged.
const fbs::Pictures* pictures_of(const fbs::Graph& root);
// The number of the graph that sees.
size_t vision_graph(const fbs::Graph& root, const fbs::Pictures& pictures);

// The fixture as the vision graph sees it, for each picture of `pixel_values` [P,C], which come one after the other, of
// `image_grid_thw` [pictures,3] patches. Throws Error where the two do not agree, and for pictures in several frames.
std::vector<Fixture> of_each_picture(const fbs::Pictures& pictures, const Fixture& fixture);

// The fixture as the first graph sees it; `features`: what the vision graph gave for each picture.
Fixture with_pictures(const fbs::Pictures& pictures, const Fixture& fixture, const std::vector<Computed>& features);

// Of two pictures, one after the other: what was computed of their patches [...,P,C].
Computed joined(const Computed& first, const Computed& second);

}  // namespace ferry::parity
