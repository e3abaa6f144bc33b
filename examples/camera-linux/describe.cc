// SPDX-License-Identifier: Apache-2.0
// Answers as JSON, one function per kind.
#include <nlohmann/json.hpp>
#include <numeric>

#include "recogniser.h"

namespace camera {
namespace {

using Json = nlohmann::ordered_json;

std::string colour_of(int32_t index) { return text_of("#%06x", ferry_label_colour(index)); }

void describe_classes(const ferry::Answer& a, Json* json) {
  Json& classes = (*json)["classes"] = Json::array();
  for (const ferry_class& c : a.all_classes())
    classes.push_back({{"index", c.index}, {"label", c.label}, {"probability", c.probability}});
}

void describe_vector(const ferry::Answer& a, Json* json) {
  (*json)["embedding"] = std::vector<float>(a.all_vector().begin(), a.all_vector().end());
}

void describe_size(int32_t width, int32_t height, Json* json) {
  (*json)["width"] = width;
  (*json)["height"] = height;
}

void describe_map(const ferry::Answer& a, Json* json) {
  describe_size(a.width, a.height, json);
  (*json)["minimum"] = a.minimum;
  (*json)["maximum"] = a.maximum;
  (*json)["sense"] = a.sense == FERRY_SENSE_METRES ? "metres" : "nearness";
}

void describe_labels(const ferry::Answer& a, Json* json) {
  describe_size(a.width, a.height, json);
  Json& classes = (*json)["classes"] = Json::array();
  for (const ferry_class& c : a.all_classes())
    classes.push_back(
        {{"index", c.index}, {"label", c.label}, {"share", c.probability}, {"colour", colour_of(c.index)}});
}

void describe_mask(const ferry::Answer& a, Json* json) {
  describe_size(a.width, a.height, json);
  const auto mask = a.all_mask();
  (*json)["share"] = std::accumulate(mask.begin(), mask.end(), 0.0) / 255 / static_cast<double>(mask.size());
  if (a.quality != 0) (*json)["quality"] = a.quality;
}

void describe_image(const ferry::Answer& a, Json* json) { describe_size(a.image.width, a.image.height, json); }

Json points_of(const float* xy, size_t count) {
  Json points = Json::array();
  for (size_t i = 0; i < count; ++i) points.push_back({xy[2 * i], xy[2 * i + 1]});
  return points;
}

void describe_boxes(const ferry::Answer& a, Json* json) {
  Json& boxes = (*json)["boxes"] = Json::array();
  for (const ferry_detection& d : a.all_boxes()) {
    Json box = {{"index", d.index}, {"label", d.label}, {"score", d.score}};
    box["box"] = {d.box.left, d.box.top, d.box.right, d.box.bottom};
    if (d.landmark_count > 0) box["landmarks"] = points_of(d.landmarks, d.landmark_count);
    if (a.landmark_scores) {
      const float* scores = a.landmark_scores + boxes.size() * d.landmark_count;
      box["landmark_scores"] = std::vector<float>(scores, scores + d.landmark_count);
    }
    boxes.push_back(std::move(box));
  }
  if (a.landmark_names)
    (*json)["landmark_names"] = std::vector<std::string>(a.landmark_names, a.landmark_names + a.landmark_name_count);
}

void describe_lines(const ferry::Answer& a, Json* json) {
  Json& lines = (*json)["lines"] = Json::array();
  for (const ferry_line& line : a.all_lines())
    lines.push_back({{"text", line.text}, {"score", line.score}, {"corners", points_of(line.corners, 4)}});
}

}  // namespace

void describe(const ferry::Answer& answer, Json* json) {
  switch (answer.kind) {
    case FERRY_ANSWER_CLASSES: return describe_classes(answer, json);
    case FERRY_ANSWER_VECTOR: return describe_vector(answer, json);
    case FERRY_ANSWER_MAP: return describe_map(answer, json);
    case FERRY_ANSWER_LABELS: return describe_labels(answer, json);
    case FERRY_ANSWER_MASK: return describe_mask(answer, json);
    case FERRY_ANSWER_IMAGE: return describe_image(answer, json);
    case FERRY_ANSWER_BOXES: return describe_boxes(answer, json);
    case FERRY_ANSWER_LINES: return describe_lines(answer, json);
    case FERRY_ANSWER_NONE: return;
  }
}

}  // namespace camera
