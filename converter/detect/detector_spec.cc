#include "converter/detect/detector_spec.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::detect {
namespace {

using Json = nlohmann::json;

template <typename T>
struct Word {
  const char* word;
  T value;
};

constexpr Word<Layout> kLayouts[] = {{"last", Layout::Last}, {"first", Layout::First}};
constexpr Word<Activation> kActivations[] = {{"none", Activation::None},
                                             {"sigmoid", Activation::Sigmoid},
                                             {"softmax", Activation::Softmax},
                                             {"clamp", Activation::Clamp}};
constexpr Word<Form> kForms[] = {{"corners", Form::Corners},
                                 {"center_size", Form::CenterSize},
                                 {"distances", Form::Distances},
                                 {"offsets", Form::Offsets},
                                 {"sizes", Form::Sizes},
                                 {"sigmoid_exp", Form::SigmoidExp},
                                 {"sigmoid_square", Form::SigmoidSquare}};
constexpr Word<Unit> kUnits[] = {{"share", Unit::Share}, {"pixels", Unit::Pixels}, {"stride", Unit::Stride}};
constexpr Word<Join> kJoins[] = {{"product", Join::Product}, {"root", Join::Root}};
constexpr Word<bool> kOrders[] = {{"anchors", false}, {"numbers", true}};
constexpr Word<bool> kPointForms[] = {{"places", false}, {"offsets", true}};

// An object's fields, each read once; finish() refuses fields that were not read.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("%s: expected an object", where_.c_str());
  }

  // Null: absent.
  const Json* find(const char* key) {
    known_.emplace_back(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string place(const char* key) const { return where_ + ": " + key; }

  template <typename T, size_t N>
  void word(const char* key, const Word<T> (&words)[N], T* out) {
    const Json* value = find(key);
    if (!value) return;
    std::string all;
    for (const Word<T>& known : words) {
      if (value->is_string() && *value == known.word) {
        *out = known.value;
        return;
      }
      all += (all.empty() ? "" : ", ") + std::string(known.word);
    }
    fail("%s: expected one of %s", place(key).c_str(), all.c_str());
  }
  bool integer(const char* key, int minimum, int maximum, int* out) {
    const Json* value = find(key);
    if (!value) return false;
    if (!value->is_number_integer() || *value < minimum || *value > maximum)
      fail("%s: expected an integer from %d to %d", place(key).c_str(), minimum, maximum);
    *out = *value;
    return true;
  }
  bool number(const char* key, double minimum, double maximum, double* out) {
    const Json* value = find(key);
    if (!value) return false;
    if (!value->is_number() || !(*value >= minimum && *value <= maximum))
      fail("%s: expected a number from %g to %g", place(key).c_str(), minimum, maximum);
    *out = *value;
    return true;
  }
  void share(const char* key, float* out) {
    if (double value = 0; number(key, 0, 1, &value)) *out = static_cast<float>(value);
  }
  void boolean(const char* key, bool* out) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_boolean()) fail("%s: expected true or false", place(key).c_str());
    *out = *value;
  }

  // A key that has another name since 0.3.
  void refuse_renamed(const char* old_key, const char* key) const {
    if (json_.contains(old_key)) fail("%s: \"%s\" is called \"%s\" since 0.3", where_.c_str(), old_key, key);
  }

  void finish() const {
    for (const auto& item : json_.items()) {
      if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
      std::string all;
      for (const std::string& known : known_) all += (all.empty() ? "" : ", ") + known;
      fail("%s has no %s: it has %s", where_.c_str(), in_quotes(item.key()).c_str(), all.c_str());
    }
  }

 private:
  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

std::vector<double> finite_numbers(const Json& json, const std::string& where) {
  std::vector<double> numbers;
  for (const Json& number : json.is_array() ? json : Json::array({json})) {
    if (!number.is_number() || !std::isfinite(number.get<double>())) fail("%s: expected numbers", where.c_str());
    numbers.push_back(number);
  }
  return numbers;
}

void read_columns(Fields& fields, ColumnSpec* columns) {
  if (const Json* outputs = fields.find("outputs")) {
    for (const Json& output : outputs->is_array() ? *outputs : Json::array({*outputs})) {
      if (output.is_string()) {
        columns->outputs.emplace_back(output.get<std::string>());
      } else if (output.is_number_unsigned() && output <= 1000) {
        columns->outputs.emplace_back(output.get<int>());
      } else {
        fail("%s: expected an output's name or number, or a list of them", fields.place("outputs").c_str());
      }
    }
  }
  fields.integer("width", 1, 1 << 20, &columns->width);
  if (columns->outputs.empty() == (columns->width == 0))
    fail("%s: expected either that or a width: which outputs hold the numbers", fields.place("outputs").c_str());
  if (const Json* channels = fields.find("channels")) {
    const auto is_end = [](const Json& end) {
      return end.is_null() || (end.is_number_integer() && end >= -(1 << 20) && end <= (1 << 20));
    };
    if (!channels->is_array() || channels->size() != 2 || !(*channels)[0].is_number_integer() ||
        !is_end((*channels)[0]) || !is_end((*channels)[1]))
      fail("%s: expected the first channel and the one after the last, or null", fields.place("channels").c_str());
    columns->begin = (*channels)[0];
    columns->end = (*channels)[1].is_null() ? 0 : (*channels)[1].get<int>();
  }
  fields.word("layout", kLayouts, &columns->layout);
  fields.word("order", kOrders, &columns->numbers_first);
}

Scores read_scores(Fields fields) {
  Scores scores;
  read_columns(fields, &scores);
  fields.word("activation", kActivations, &scores.activation);
  if (int background = 0; fields.integer("background", -1, 1 << 20, &background)) scores.background = background;
  fields.finish();
  return scores;
}

Objectness read_objectness(Fields fields) {
  Objectness objectness;
  read_columns(fields, &objectness);
  fields.word("activation", kActivations, &objectness.activation);
  if (objectness.activation == Activation::Softmax)
    fail("%s: a softmax of one number is 1", fields.place("activation").c_str());
  fields.word("join", kJoins, &objectness.join);
  fields.finish();
  return objectness;
}

Boxes read_boxes(Fields fields) {
  Boxes boxes;
  read_columns(fields, &boxes);
  fields.word("form", kForms, &boxes.form);
  boxes.unit = boxes.form == Form::Distances ? Unit::Stride : Unit::Pixels;
  fields.word("unit", kUnits, &boxes.unit);
  if (boxes.unit == Unit::Stride && (boxes.form == Form::Corners || boxes.form == Form::CenterSize))
    fail("%s: strides are for distances, places count by share or pixels", fields.place("unit").c_str());
  fields.integer("bins", 1, 1024, &boxes.bins);
  if (boxes.bins > 1 && boxes.form != Form::Distances)
    fail("%s: are for the form distances", fields.place("bins").c_str());
  if (const Json* variances = fields.find("variances")) {
    const std::vector<double> numbers = finite_numbers(*variances, fields.place("variances"));
    if (numbers.size() != 2 || (boxes.form != Form::Offsets && boxes.form != Form::Sizes))
      fail("%s: expected two, of centre and size, for the forms offsets and sizes", fields.place("variances").c_str());
    boxes.variances = {numbers[0], numbers[1]};
  }
  fields.boolean("y_first", &boxes.y_first);
  fields.finish();
  return boxes;
}

// Names of points: "coco", or a list; and polylines through them.
void read_points(Fields& fields, fbs::DetectionT* params) {
  if (const Json* names = fields.find("names"); names && *names == "coco") {
    set_coco_points(params);
  } else if (names) {
    for (const Json& name : *names) {
      if (!names->is_array() || !name.is_string())
        fail("%s: expected \"coco\" or a list of names", fields.place("names").c_str());
      params->points.push_back(name);
    }
  }
  const Json* lines = fields.find("lines");
  if (!lines) return;
  params->lines.clear();
  const auto is_point = [](const Json& point) { return point.is_number_unsigned() && point <= UINT16_MAX; };
  for (const Json& line : *lines) {
    if (!lines->is_array() || !line.is_array() || !std::all_of(line.begin(), line.end(), is_point))
      fail("%s: expected a list of lines, which are lists of points", fields.place("lines").c_str());
    for (size_t i = 1; i < line.size(); ++i) {
      params->lines.push_back(line[i - 1]);
      params->lines.push_back(line[i]);
    }
  }
}

Landmarks read_landmarks(Fields fields, bool* optional, fbs::DetectionT* params) {
  Landmarks landmarks;
  read_columns(fields, &landmarks);
  fields.word("form", kPointForms, &landmarks.offsets);
  fields.word("unit", kUnits, &landmarks.unit);
  if (landmarks.unit == Unit::Stride)
    fail("%s: places count by share or pixels; offsets count by the anchor", fields.place("unit").c_str());
  fields.number("variance", 1e-6, 1e6, &landmarks.variance);
  fields.integer("numbers", 2, 16, &landmarks.numbers);
  fields.boolean("optional", optional);
  fields.boolean("y_first", &landmarks.y_first);
  fields.boolean("scored", &landmarks.scored);
  if (landmarks.scored && landmarks.numbers < 3)
    fail("%s: the third of a point's numbers is its score, and there are 2", fields.place("scored").c_str());
  read_points(fields, params);
  fields.finish();
  return landmarks;
}

std::array<double, 2> anchor_size(const Json& json, const std::string& where) {
  const std::vector<double> numbers = finite_numbers(json, where);
  if (numbers.empty() || numbers.size() > 2 || !(numbers.front() > 0 && numbers.back() > 0))
    fail("%s: expected for each level a list of sizes above 0, one number or width and height", where.c_str());
  return {numbers.front(), numbers.back()};
}

// Liu et al. 2016: squares of the minimum and of the geometric mean with the maximum, then the minimum in each ratio
// and in its inverse.
std::vector<std::array<double, 2>> ssd_sizes(const Json& level, const std::string& where) {
  Fields fields(level, where);
  double minimum = 0, maximum = 0;
  if (!fields.number("minimum", 1e-3, 1e6, &minimum)) fail("%s: expected a minimum", where.c_str());
  std::vector<std::array<double, 2>> sizes = {{minimum, minimum}};
  if (fields.number("maximum", 1e-3, 1e6, &maximum)) {
    const double mean = std::sqrt(minimum * maximum);
    sizes.push_back({mean, mean});
  }
  if (const Json* ratios = fields.find("ratios")) {
    for (const double ratio : finite_numbers(*ratios, fields.place("ratios"))) {
      if (!(ratio > 0)) fail("%s: expected ratios above 0", fields.place("ratios").c_str());
      const double root = std::sqrt(ratio);
      sizes.push_back({minimum * root, minimum / root});
      sizes.push_back({minimum / root, minimum * root});
    }
  }
  fields.finish();
  return sizes;
}

Anchors read_anchors(Fields fields) {
  Anchors anchors;
  const bool counted = fields.integer("per_cell", 1, 1024, &anchors.per_cell);
  if (const Json* sizes = fields.find("sizes")) {
    const std::string where = fields.place("sizes");
    if (!sizes->is_array() || counted) fail("%s: expected a list, one entry a level, and no per_cell", where.c_str());
    for (const Json& level : *sizes) {
      std::vector<std::array<double, 2>> list;
      if (level.is_object()) {
        list = ssd_sizes(level, where);
      } else {
        for (const Json& size : level.is_array() ? level : Json::array({level}))
          list.push_back(anchor_size(size, where));
      }
      if (list.empty()) fail("%s: a level without any", where.c_str());
      anchors.sizes.push_back(std::move(list));
    }
  }
  if (const Json* boxes = fields.find("boxes")) {
    const std::string where = fields.place("boxes");
    if (!boxes->is_array() || boxes->empty() || !anchors.sizes.empty() || counted)
      fail("%s: expected a list of boxes, and neither sizes nor per_cell", where.c_str());
    for (const Json& box : *boxes) {
      const std::vector<double> numbers = finite_numbers(box, where);
      if (numbers.size() != 4) fail("%s: expected x, y, width and height of each", where.c_str());
      anchors.boxes.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
    }
  }
  if (double cell = 0; fields.number("cell", 0, 1, &cell)) anchors.cell = cell;
  if (double offset = 0; fields.number("offset", 0, 1e6, &offset)) anchors.offset = offset;
  if (anchors.cell && anchors.offset)
    fail("%s: says where centres lie, as cell does: expected one of them", fields.place("offset").c_str());
  fields.boolean("even", &anchors.even);
  fields.boolean("clip", &anchors.clip);
  fields.boolean("first", &anchors.first);
  fields.finish();
  return anchors;
}

// An object that must not be missing.
Fields required(Fields& all, const char* key) {
  const Json* json = all.find(key);
  if (!json) fail("%s is missing: expected an object", all.place(key).c_str());
  return Fields(*json, all.place(key));
}

}  // namespace

DetectorSpec parse_detector(const Json& json, const std::string& name) {
  DetectorSpec spec;
  spec.name = name;
  Fields fields(json, name);
  spec.scores = read_scores(required(fields, "scores"));
  spec.boxes = read_boxes(required(fields, "boxes"));
  if (const Json* objectness = fields.find("objectness"))
    spec.objectness = read_objectness(Fields(*objectness, fields.place("objectness")));
  if (const Json* landmarks = fields.find("landmarks"))
    spec.landmarks =
        read_landmarks(Fields(*landmarks, fields.place("landmarks")), &spec.landmarks_optional, &spec.params);
  if (const Json* strides = fields.find("strides")) {
    for (const double stride : finite_numbers(*strides, fields.place("strides"))) {
      if (!(stride >= 1 && stride <= 65536) || stride != std::floor(stride))
        fail("%s: expected integers above 0", fields.place("strides").c_str());
      spec.strides.push_back(static_cast<int>(stride));
    }
  }
  if (const Json* anchors = fields.find("anchors"))
    spec.anchors = read_anchors(Fields(*anchors, fields.place("anchors")));
  if (!spec.anchors.sizes.empty() && spec.anchors.sizes.size() != spec.strides.size())
    fail("%s: anchors: sizes for %zu levels, but %zu strides", name.c_str(), spec.anchors.sizes.size(),
         spec.strides.size());
  if (const Json* image = fields.find("image")) spec.image = image_settings(*image, fields.place("image"));
  fields.share("threshold", &spec.params.threshold);
  fields.share("overlap", &spec.params.overlap);
  fields.boolean("across_classes", &spec.params.across_classes);
  fields.boolean("best_class", &spec.best_class);
  fields.integer("maximum", 1, 4096, &spec.params.maximum);
  if (const Json* labels = fields.find("labels")) {
    for (const Json& label : *labels) {
      if (!labels->is_array() || !label.is_string())
        fail("%s: expected a list of names", fields.place("labels").c_str());
      spec.labels.push_back(label);
    }
  }
  fields.boolean("recognised", &spec.recognised);
  fields.refuse_renamed("picture", "image");  // words: ok
  fields.finish();
  return spec;
}

}  // namespace ferry::detect
