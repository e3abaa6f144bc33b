// A blob whose first graph gives an image's embedding to another one, which takes prompts (the schema's
// PromptedSegmentation): a fixture is about both.
#pragma once

#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "sdk/model/model.h"

namespace ferry::parity {

// The number of the graph that takes what the first one gives, with prompts; 0 where there is none.
size_t prompted_graph(const fbs::Graph& root);

// The fixture as the first graph sees it: its inputs without the prompts.
Fixture without_prompts(const Fixture& fixture);

// The fixture as the prompted graph sees it. Inputs that the first graph gave are in `computed`; the others are made of
// the fixture's, which frameworks name "point_coords" or "input_points" [...,P,2], "point_labels" or "input_labels"
// [...,P], "boxes" or "input_boxes" [...,4], "mask_input" or "input_masks" [...,H,W]. A box is two points, labelled 2
// and 3, behind the others; where there is no box, a point that is none (-1) follows, as segment-anything and
// transformers do it. Throws Error for prompts of several groups, and for those that do not agree.
Fixture with_prompts(const fbs::Graph& graph, const Fixture& fixture, const ComputedTensors& computed);

// The numbers of the blob's graphs that a fixture is about, in the order in which they run.
std::vector<size_t> graphs_of_fixtures(const fbs::Graph& root);

// These graphs, each with the fixture as it sees it. Throws Error where the fixture has several images in a text, and
// so one graph several times.
struct GraphFixture {
  size_t index;  // in the blob
  std::shared_ptr<const Model> model;
  Fixture fixture;
};
std::vector<GraphFixture> by_graph(const std::shared_ptr<const Model>& model, const Fixture& fixture,
                                   const ComputedTensors& computed);

}  // namespace ferry::parity
