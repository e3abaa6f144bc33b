// Networks whose answers can be foretold, one a task of sdk/task/.
#pragma once

#include <array>
#include <memory>

#include "converter/graph/graph.h"

namespace ferry::testing {

// input [1,H,W,3] -> depth [1,H,W,1]: one of the image's colours, 0 to 1.
std::unique_ptr<Graph> colour_as_depth(int height, int width, int colour, const fbs::PreprocessT& recipe,
                                       bool metric = false);
// input [1,8,12,3] -> logits [1,4,6,3]: the class of a place is its brightest colour.
std::unique_ptr<Graph> brightest_colour();
// input [1,8,8,4] -> output [1,8,8,3]: what is known of the image, in -1..1, and grey where it is not.
std::unique_ptr<Graph> gray_painter();
// input [1,16,16,3] -> image_embedding [1,4,4,3], and graph "prompt": mask_logits [1,8,8,3], a mask a colour, that of
// the places where it is brighter than the half, plus the former mask's; the qualities are the colours' means.
std::unique_ptr<Graph> colour_masks();

// input [1,8,8,3] -> logits [1,8,8,1]: red in front of what is not, 32 times as far apart as levels on 0..1.
std::unique_ptr<Graph> red_in_front();

// input [1,H,W,3] -> text [1,H,W,1], red; and graph "line": [1,4,W,3], at least 8 long, -> classes [1,W/4,3] of "", "g"
// and "b", how much red (of that 0.3), green and blue a place has.
std::unique_ptr<Graph> colour_reader(int height, int width, const fbs::PreprocessT& recipe,
                                     const fbs::OcrT& params = {});

// input [1,H,W,3] -> boxes [1,4,4], scores [1,4,2] ("red", "green") and landmarks [1,4,4]: what the colours of the
// places (row, column) of the top left 4x4 pixels say, a box a row. Its corners are the levels on 0..1 of red in that
// row, its scores green in the first two columns, its landmarks blue.
std::unique_ptr<Graph> boxes_of_colours(int height, int width, const fbs::PreprocessT& recipe,
                                        const fbs::DetectionT& params);

// input [1,H,W,3] -> boxes [1,1,4] and scores [1,1,1]: a box of score 1 at these places on 0..1, whatever it sees; its
// landmark is its top left.
std::unique_ptr<Graph> one_box(int height, int width, const fbs::PreprocessT& recipe, const std::array<float, 4>& box);

}  // namespace ferry::testing
