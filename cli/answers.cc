#include "cli/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/print.h"

namespace ferry::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* label_of(const ferry_class& c) { return *c.label ? c.label : "(no label)"; }

std::string colour_of(const ferry_class& c) {
  char text[8];
  std::snprintf(text, sizeof(text), "#%06x", ferry_label_colour(c.index));
  return text;
}

void print_classes(const RunOptions&, const ferry_answer& a, const std::string&, const image::View&) {
  for (size_t i = 0; i < a.class_count; ++i) {
    const ferry_class& c = a.classes[i];
    print("%7.4f  %4d  %s\n", static_cast<double>(c.probability), c.index, label_of(c));
  }
}

void describe_classes(const ferry_answer& a, Json* json) {
  Json& classes = (*json)["classes"] = Json::array();
  for (size_t i = 0; i < a.class_count; ++i) {
    const ferry_class& c = a.classes[i];
    classes.push_back({{"index", c.index}, {"label", c.label}, {"probability", c.probability}});
  }
}

// The length and the first elements of a vector; --save and --json have all of it.
void print_vector(const RunOptions& o, const ferry_answer& a, const std::string&, const image::View&) {
  double squares = 0;
  for (size_t i = 0; i < a.vector_size; ++i) squares += double{a.vector[i]} * a.vector[i];
  print("embedding of %zu values, length %.4g:", a.vector_size, std::sqrt(squares));
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(a.vector_size, kShown); ++i) print(" %.4f", static_cast<double>(a.vector[i]));
  print("%s%s\n", a.vector_size > kShown ? " ..." : "", o.save.empty() ? " (--save FILE keeps it)" : "");
}

void describe_vector(const ferry_answer& a, Json* json) {
  (*json)["embedding"] = std::vector<float>(a.vector, a.vector + a.vector_size);
}

void print_map(const RunOptions&, const ferry_answer& a, const std::string& file, const image::View&) {
  print("%s: %dx%d, from %.4g to %.4g%s\n", file.c_str(), a.width, a.height, static_cast<double>(a.minimum),
        static_cast<double>(a.maximum),
        a.sense == FERRY_SENSE_METRES ? " metres" : ", where larger is nearer; no scale is known");
}

void describe_size(const ferry_answer& a, Json* json) {
  (*json)["width"] = a.width;
  (*json)["height"] = a.height;
}

void describe_map(const ferry_answer& a, Json* json) {
  describe_size(a, json);
  (*json)["minimum"] = a.minimum;
  (*json)["maximum"] = a.maximum;
  (*json)["sense"] = a.sense == FERRY_SENSE_METRES ? "metres" : "nearness";
}

void print_labels(const RunOptions& o, const ferry_answer& a, const std::string& file, const image::View&) {
  print("%s: %dx%d\n", file.c_str(), a.width, a.height);
  for (size_t i = 0; i < a.class_count; ++i) {
    const ferry_class& c = a.classes[i];
    print("%6.2f %%  %4d  %s%s\n", 100 * static_cast<double>(c.probability), c.index,
          o.colours ? (colour_of(c) + "  ").c_str() : "", label_of(c));
  }
}

void describe_labels(const ferry_answer& a, Json* json) {
  describe_size(a, json);
  Json& classes = (*json)["classes"] = Json::array();
  for (size_t i = 0; i < a.class_count; ++i) {
    const ferry_class& c = a.classes[i];
    classes.push_back({{"index", c.index}, {"label", c.label}, {"share", c.probability}, {"colour", colour_of(c)}});
  }
}

double covered_share(const ferry_answer& a) {
  const auto pixels = static_cast<size_t>(a.width) * static_cast<size_t>(a.height);
  return std::accumulate(a.mask, a.mask + pixels, 0.0) / 255 / static_cast<double>(pixels);
}

void print_mask(const RunOptions&, const ferry_answer& a, const std::string& file, const image::View&) {
  print("%s: %dx%d, covers %.2f %%", file.c_str(), a.width, a.height, 100 * covered_share(a));
  if (a.quality != 0) print(", quality %.3f", static_cast<double>(a.quality));
  print("\n");
}

void describe_mask(const ferry_answer& a, Json* json) {
  describe_size(a, json);
  (*json)["share"] = covered_share(a);
  if (a.quality != 0) (*json)["quality"] = a.quality;
}

void print_image(const RunOptions&, const ferry_answer& a, const std::string& file, const image::View& image) {
  print("%s: %dx%d, from %dx%d\n", file.c_str(), a.image.width, a.image.height, image.width, image.height);
}

void describe_image(const ferry_answer& a, Json* json) {
  (*json)["width"] = a.image.width;
  (*json)["height"] = a.image.height;
}

void print_boxes(const RunOptions&, const ferry_answer& a, const std::string& file, const image::View&) {
  for (size_t i = 0; i < a.box_count; ++i) {
    const ferry_detection& d = a.boxes[i];
    print("%7.4f  %.0f,%.0f to %.0f,%.0f  %s\n", static_cast<double>(d.score), static_cast<double>(d.box.left),
          static_cast<double>(d.box.top), static_cast<double>(d.box.right), static_cast<double>(d.box.bottom),
          *d.label ? d.label : ("class " + std::to_string(d.index)).c_str());
  }
  if (a.box_count == 0) print("nothing found\n");
  if (!file.empty()) print("%s\n", file.c_str());
}

Json points_of(const float* xy, size_t points) {
  Json out = Json::array();
  for (size_t p = 0; p < points; ++p) out.push_back({xy[2 * p], xy[2 * p + 1]});
  return out;
}

void describe_boxes(const ferry_answer& a, Json* json) {
  Json& boxes = (*json)["boxes"] = Json::array();
  for (size_t i = 0; i < a.box_count; ++i) {
    const ferry_detection& d = a.boxes[i];
    Json box = {{"index", d.index}, {"label", d.label}, {"score", d.score}};
    box["box"] = {d.box.left, d.box.top, d.box.right, d.box.bottom};
    if (d.landmark_count > 0) box["landmarks"] = points_of(d.landmarks, d.landmark_count);
    if (a.landmark_scores) {
      const float* scores = a.landmark_scores + i * d.landmark_count;
      box["landmark_scores"] = std::vector<float>(scores, scores + d.landmark_count);
    }
    boxes.push_back(std::move(box));
  }
  if (a.landmark_names)
    (*json)["landmark_names"] = std::vector<std::string>(a.landmark_names, a.landmark_names + a.landmark_name_count);
}

void print_lines(const RunOptions&, const ferry_answer& a, const std::string& file, const image::View&) {
  for (size_t i = 0; i < a.line_count; ++i) print("%s\n", a.lines[i].text);
  if (a.line_count == 0) print("no text found\n");
  if (!file.empty()) print("%s\n", file.c_str());
}

void describe_lines(const ferry_answer& a, Json* json) {
  Json& lines = (*json)["lines"] = Json::array();
  for (size_t i = 0; i < a.line_count; ++i) {
    const ferry_line& line = a.lines[i];
    lines.push_back({{"text", line.text}, {"score", line.score}, {"corners", points_of(line.corners, 4)}});
  }
}

// In the order of ferry_answer_kind.
constexpr AnswerEntry kAnswers[] = {
    {nullptr, false, nullptr, nullptr},
    {nullptr, false, print_classes, describe_classes},
    {nullptr, false, print_vector, describe_vector},
    {"_depth", false, print_map, describe_map},
    {"_labels", false, print_labels, describe_labels},
    {"_mask", false, print_mask, describe_mask},
    {"_x", false, print_image, describe_image},
    {"_boxes", true, print_boxes, describe_boxes},
    {"_lines", true, print_lines, describe_lines},
};

}  // namespace

const AnswerEntry& answer_entry(ferry_answer_kind kind) { return kAnswers[kind]; }

std::string answer_suffix(const AnswerEntry& entry, const ferry_answer& answer, const image::View& image) {
  if (answer.kind != FERRY_ANSWER_IMAGE) return entry.suffix;
  const int scale = answer.image.width / image.width;
  return scale > 1 ? entry.suffix + std::to_string(scale) : "_new";
}

}  // namespace ferry::cli
