// Fixtures of blobs whose first graph computes an image embedding for a second one, which takes prompts (the schema's
// PromptedSegmentation). Such a fixture covers both graphs.
#pragma once

#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "sdk/model/model.h"

namespace ferry::parity {

// The index of the graph that reads the first one's outputs and prompts; 0 if there is none.
size_t prompted_graph(const fbs::Graph& root);

// The first graph's fixture: its inputs without the prompts.
Fixture without_prompts(const Fixture& fixture);

// The prompted graph's fixture. Inputs that the first graph computes are in `computed`. The others are made from the
// fixture's inputs, which frameworks name "point_coords" or "input_points" [...,P,2], "point_labels" or "input_labels"
// [...,P], "boxes" or "input_boxes" [...,4], "mask_input" or "input_masks" [...,H,W]. A box becomes two points with
// labels 2 and 3, after the others. Without a box, a padding point with label -1 follows, as in segment-anything and
// transformers. Throws Error for several groups of prompts, and for prompts that disagree.
Fixture with_prompts(const fbs::Graph& graph, const Fixture& fixture, const ComputedTensors& computed);

// The indices of the blob's graphs that a fixture covers, in execution order.
std::vector<size_t> graphs_of_fixtures(const fbs::Graph& root);

// These graphs, each with its own view of the fixture. Throws Error if the fixture's text has several images, because
// one graph would run several times.
struct GraphFixture {
  size_t index;  // in the blob
  std::shared_ptr<const Model> model;
  Fixture fixture;
};
std::vector<GraphFixture> by_graph(const std::shared_ptr<const Model>& model, const Fixture& fixture,
                                   const ComputedTensors& computed);

}  // namespace ferry::parity
