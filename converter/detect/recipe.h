// How a detector's outputs become boxes: what `ferry convert --detect` reads. docs/tasks.md, "Boxes", tells the fields.
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

enum class Layout { Auto, Last, First };  // of rows and their numbers. Auto: First where there are height and width
enum class Activation { Auto, None, Sigmoid, Softmax, Clamp };  // Auto: by what computes the numbers
enum class Form {
  Corners,
  CenterSize,
  Distances,     // from a point to the left, top, right and bottom
  Offsets,       // of centre and logarithm of size, from an anchor's
  SigmoidExp,    // YOLOv3's
  SigmoidSquare  // YOLOv5's
};
enum class Unit { Share, Pixels, Stride };
enum class Join { Product, Root };

// Some numbers of every row: a row is a place that may see a thing.
struct Part {
  std::vector<std::variant<int, std::string>> outputs;  // one, or one a level; empty: see width
  int width = 0;           // above 0: every output of rows of so many numbers, most rows first
  int begin = 0, end = 0;  // which of a row's numbers, below 0 counted from the last; end 0: up to the last
  Layout layout = Layout::Auto;
  bool numbers_first = false;  // of a map's place: the first number of all anchors, then the second; else by anchor
  Activation activation = Activation::Auto;
};

struct Scores : Part {
  std::optional<int> background;  // the class that is none; below 0: counted from the end
};
struct Objectness : Part {
  Join join = Join::Product;
};
struct Boxes : Part {
  Form form = Form::Corners;
  Unit unit = Unit::Pixels;
  int bins = 1;  // of each distance: what it is, is their expectation
  std::array<double, 2> variances = {1, 1};
  bool y_first = false;  // (y, x, y, x)
};
struct Landmarks : Part {
  bool offsets = false;      // from an anchor's centre, in its sizes; otherwise places
  Unit unit = Unit::Pixels;  // of places
  double variance = 1;
  int numbers = 2;  // of a point; x and y come first
};

// Boxes in the network's pixels around the cells of grids, one a stride.
struct Anchors {
  int per_cell = 1;
  std::vector<std::vector<std::array<double, 2>>> sizes;  // width, height; by level. None: the cell's
  std::vector<std::array<double, 4>> boxes;               // all of them as x, y, width, height on 0..1; in grids' place
  std::optional<double> cell;                             // where in a cell a centre is: 0, its top left, to 1
  std::optional<double> offset;                           // in its place: in pixels, for cells of all sizes
  bool even = false;                                      // cells share the image evenly, whatever the stride
  bool clip = false;                                      // none is larger than the image
  bool first = false;  // rows of a level: all of the first anchor, then of the second; else a cell's together
};

struct Recipe {
  std::string name;         // for messages: a name of the table, or a file's
  bool recognised = false;  // may be found by its outputs
  Scores scores;
  std::optional<Objectness> objectness;
  Boxes boxes;
  std::optional<Landmarks> landmarks;
  bool landmarks_optional = false;
  std::vector<int> strides;
  Anchors anchors;
  ImageSettings image;
  fbs::DetectionT params;
  bool best_class = false;  // a row has only its best one
  std::vector<std::string> labels;
};

// Throws Error, beginning with `name`, for what is malformed.
Recipe parse_recipe(const nlohmann::json& json, const std::string& name);

// The recipes of known detectors. A name has several where files of one detector differ: the first that fits is meant.
std::vector<Recipe> known_recipes();
std::vector<std::string> known_names();

}  // namespace ferry::detect
