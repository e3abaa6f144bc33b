// Networks with predictable answers, one for each task of sdk/task/.
#pragma once

#include <array>
#include <memory>

#include "converter/graph/graph.h"

namespace ferry::testing {

// input [1,H,W,3] -> depth [1,H,W,1]: one of the image's colours, 0 to 1.
std::unique_ptr<Graph> colour_as_depth(int height, int width, int colour, const fbs::PreprocessT& recipe,
                                       bool metric = false);
// input [1,8,12,3] -> logits [1,4,6,3]: each position's class is its brightest colour.
std::unique_ptr<Graph> brightest_colour();
// input [1,8,8,4] -> output [1,8,8,3]: the known part of the image, in -1..1, and grey elsewhere.
std::unique_ptr<Graph> gray_painter();
// input [1,16,16,3] -> image_embedding [1,4,4,3]. Graph "prompt" returns mask_logits [1,8,8,3], one mask per colour:
// the positions where it is brighter than one half, plus the previous mask. The qualities are the colours' means.
std::unique_ptr<Graph> colour_masks();

// input [1,8,8,3] -> logits [1,8,8,1]: red is the foreground; a step of a level is 32 times that of 0..1.
std::unique_ptr<Graph> red_in_front();

// input [1,H,W,3] -> text [1,H,W,1]: red. Graph "line": [1,4,W,3], W at least 8 -> classes [1,W/4,3] of "", "g" and
// "b": red (times 0.3), green and blue of each position.
std::unique_ptr<Graph> colour_reader(int height, int width, const fbs::PreprocessT& recipe,
                                     const fbs::OcrT& params = {});

// input [1,H,W,3] -> boxes [1,4,4], scores [1,4,2] ("red", "green") and landmarks [1,4,4], one box per row of the top
// left 4x4 pixels. A row's red levels on 0..1 are the box's corners, green in the first two columns its scores, blue
// its landmarks.
std::unique_ptr<Graph> boxes_of_colours(int height, int width, const fbs::PreprocessT& recipe,
                                        const fbs::DetectionT& params);

// input [1,H,W,3] -> boxes [1,1,4] and scores [1,1,1]: always the same box on 0..1 with score 1; its landmark is its
// top left corner.
std::unique_ptr<Graph> one_box(int height, int width, const fbs::PreprocessT& recipe, const std::array<float, 4>& box);

// one_box() with two landmarks at the corners of `turned` (x, y, x, y), and graph "points": input [1,6,6,3] -> points
// [1,3,2]: the crop's top left, centre and bottom right; score [1,1]: the mean of red; point_scores [1,3]: 1, 1 and
// 0.25; classes [1,2], "green" and "blue": the means of these.
std::unique_ptr<Graph> corners_of_box(int height, int width, const fbs::PreprocessT& recipe,
                                      const std::array<float, 4>& box, const std::array<float, 4>& turned,
                                      const fbs::LandmarksT& params = {});

}  // namespace ferry::testing
