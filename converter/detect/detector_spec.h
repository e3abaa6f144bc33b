// How a detector's outputs become boxes: post-processing, and the preprocessing of its images. `ferry convert --detect`
// reads it from a file or from the table of known detectors. docs/tasks.md, "Boxes", describes the fields.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "converter/preprocessing/image_settings.h"
#include "ferry_generated.h"

namespace ferry::detect {

enum class Layout { Auto, Last, First };  // of a row's elements. Auto: First if the output has height and width
enum class Activation { Auto, None, Sigmoid, Softmax, Clamp };  // Auto: by the operator that computes the output
enum class Form {
  Corners,
  CenterSize,
  Distances,     // from a point to the left, top, right and bottom
  Offsets,       // of the centre and of the logarithm of the size, relative to an anchor
  Sizes,         // offsets of the centre and sizes, relative to an anchor
  SigmoidExp,    // of YOLOv3
  SigmoidSquare  // of YOLOv5
};
enum class Unit { Share, Pixels, Stride };
enum class Join { Product, Root };

// Columns of the outputs' rows. A row is a candidate for one object.
struct ColumnSpec {
  std::vector<std::variant<int, std::string>> outputs;  // one, or one per level; empty: see width
  int width = 0;           // above 0: all outputs whose rows have this width, those with the most rows first
  int begin = 0, end = 0;  // columns; negative ones count from the end; end 0: up to the last
  Layout layout = Layout::Auto;
  bool numbers_first = false;  // in a map: the first element of all anchors, then the second; else anchor by anchor
  Activation activation = Activation::Auto;
};

struct Scores : ColumnSpec {
  std::optional<int> background;  // class index of the background; negative ones count from the end
};
struct Objectness : ColumnSpec {
  Join join = Join::Product;
};
struct Boxes : ColumnSpec {
  Form form = Form::Corners;
  Unit unit = Unit::Pixels;
  int bins = 1;  // per distance: a distance is the expectation over its bins
  std::array<double, 2> variances = {1, 1};
  bool y_first = false;  // (y, x, y, x)
};
struct Landmarks : ColumnSpec {
  bool offsets = false;      // relative to an anchor's centre, in its sizes; else positions
  Unit unit = Unit::Pixels;  // of positions
  double variance = 1;
  int numbers = 2;       // elements per point; x and y come first
  bool y_first = false;  // y and x
  bool scored = false;   // the third element is the probability that the point is visible
};

// Anchor boxes in the network's pixels, around the cells of one grid per stride.
struct Anchors {
  int per_cell = 1;
  std::vector<std::vector<std::array<double, 2>>> sizes;  // width and height, by level; empty: the size of the cell
  std::vector<std::array<double, 4>> boxes;               // replaces the grids: x, y, width, height in 0..1
  std::optional<double> cell;                             // offset of the centre in a cell, from 0, its top left, to 1
  std::optional<double> offset;                           // replaces `cell`: offset in pixels, for cells of all sizes
  bool even = false;                                      // cells divide the image evenly, whatever the stride
  bool clip = false;                                      // limits sizes to the image
  bool first = false;  // rows of a level: all of the first anchor, then of the second; else cell by cell
};

struct DetectorSpec {
  std::string name;         // for messages: that of the table, or of the file
  bool recognised = false;  // may be recognised by the outputs
  Scores scores;
  std::optional<Objectness> objectness;
  Boxes boxes;
  std::optional<Landmarks> landmarks;
  bool landmarks_optional = false;
  std::vector<int> strides;
  Anchors anchors;
  ImageSettings image;
  fbs::DetectionT params;
  bool best_class = false;  // keeps only the best class of each row
  std::vector<std::string> labels;
};

// Throws Error, beginning with `name`, for malformed fields.
DetectorSpec parse_detector(const nlohmann::json& json, const std::string& name);

// The 17 points of persons in COCO: names and a skeleton.
void set_coco_points(fbs::DetectionT* params);

// The table of known detectors. A name has several rows if files of one detector differ; the first that matches is
// used.
std::vector<DetectorSpec> known_detectors();
std::vector<std::string> known_names();
std::string known_names_text();  // separated by commas

}  // namespace ferry::detect
