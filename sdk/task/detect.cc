#include "sdk/task/detect.h"

#include <algorithm>
#include <cmath>

#include "sdk/task/image.h"
#include "sdk/task/labels.h"

namespace ferry::task {
namespace {

struct Candidate {
  ferry_box box;  // in input coordinates
  float score;
  int label, row;
};

// Output `index` as [1, rows, columns]. Verification checked the declared shape (sdk/model/verify_recipes.h), but an
// image of another size may change it.
struct Rows {
  const float* data = nullptr;
  int rows = 0, columns = 0;
};

Status output_rows(const Session& session, unsigned index, int columns, Rows* out) {
  const fbs::Graph& graph = session.model().graph();
  if (index >= graph.outputs()->size()) return {};
  const TensorId tensor = graph.outputs()->Get(index)->tensor();
  const Shape& shape = session.shape(tensor);
  if (shape[0] != 1 || shape[1] != session.shape(graph.outputs()->Get(0)->tensor())[1] ||
      (columns > 0 && shape[2] != columns)) {
    return error(FERRY_SHAPE_MISMATCH,
                 "output %u has %d rows of %d values, which do not match the boxes of an image of this size", index,
                 shape[1], shape[2]);
  }
  *out = {static_cast<const float*>(session.data(tensor)), shape[1], shape[2]};
  return {};
}

std::vector<Candidate> candidates(const Rows& boxes, const Rows& scores, const fbs::Detection& params,
                                  const Extent& extent) {
  std::vector<Candidate> found;
  const float width = static_cast<float>(extent.width), height = static_cast<float>(extent.height);
  for (int row = 0; row < scores.rows; ++row) {
    const float *score = scores.data + int64_t{row} * scores.columns, *b = boxes.data + int64_t{row} * 4;
    for (int label = 0; label < scores.columns; ++label) {
      if (!(score[label] >= params.threshold())) continue;
      const ferry_box box = {b[0] * width, b[1] * height, b[2] * width, b[3] * height};
      if (std::isfinite(area(box)) && area(box) > 0) found.push_back({box, score[label], label, row});
    }
  }
  // A stable order of equal scores, for the same answer on any machine.
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.row != b.row ? a.row < b.row : a.label < b.label;
  });
  return found;
}

// Greedy non-maximum suppression.
std::vector<Candidate> best(const std::vector<Candidate>& all, const fbs::Detection& params) {
  std::vector<Candidate> kept;
  for (const Candidate& c : all) {
    if (kept.size() >= static_cast<size_t>(params.maximum())) break;
    const bool dropped = std::any_of(kept.begin(), kept.end(), [&](const Candidate& better) {
      return (params.across_classes() || better.label == c.label) && overlap(better.box, c.box) > params.overlap();
    });
    if (!dropped) kept.push_back(c);
  }
  return kept;
}

}  // namespace

float area(const ferry_box& b) { return std::fmax(b.right - b.left, 0.0f) * std::fmax(b.bottom - b.top, 0.0f); }

float overlap(const ferry_box& a, const ferry_box& b) {
  const float both = area(
      {std::fmax(a.left, b.left), std::fmax(a.top, b.top), std::fmin(a.right, b.right), std::fmin(a.bottom, b.bottom)});
  return both > 0 ? both / (area(a) + area(b) - both) : 0;
}

Status find_objects(Networks& networks, const image::Frame& frame, const fbs::Detection& params, Answer* answer) {
  Session& session = networks.session;
  FERRY_TRY(set_image(session, frame, &networks.intake));
  FERRY_TRY(session.run());
  Rows boxes, scores, points, shares;
  FERRY_TRY(output_rows(session, 0, 4, &boxes));
  FERRY_TRY(output_rows(session, 1, 0, &scores));
  FERRY_TRY(output_rows(session, 2, 0, &points));
  FERRY_TRY(output_rows(session, 3, points.columns / 2, &shares));
  const Extent extent = input_extent(session);
  const std::vector<Candidate> kept = best(candidates(boxes, scores, params, extent), params);
  const image::Geometry& g = networks.intake.plan().geometry;
  const auto x_of = [&g](float seen) { return static_cast<float>((seen - g.shift_x) / g.scale_x); };
  const auto y_of = [&g](float seen) { return static_cast<float>((seen - g.shift_y) / g.scale_y); };
  const auto numbers = static_cast<size_t>(points.columns / 2 * 2);
  answer->landmarks.reserve(kept.size() * numbers);  // reserved, because detections point into it
  for (const Candidate& c : kept) {
    const float* landmarks = answer->landmarks.data() + answer->landmarks.size();
    for (size_t i = 0; i < numbers; i += 2) {
      const float* point = points.data + int64_t{c.row} * points.columns + i;
      answer->landmarks.push_back(x_of(point[0] * static_cast<float>(extent.width)));
      answer->landmarks.push_back(y_of(point[1] * static_cast<float>(extent.height)));
    }
    if (shares.data != nullptr) {
      const float* row = shares.data + int64_t{c.row} * shares.columns;
      answer->landmark_scores.insert(answer->landmark_scores.end(), row, row + shares.columns);
    }
    const ferry_box box = {x_of(c.box.left), y_of(c.box.top), x_of(c.box.right), y_of(c.box.bottom)};
    answer->detections.push_back(
        {box, c.score, c.label, label_of(networks.graph(), c.label), numbers > 0 ? landmarks : nullptr, numbers / 2});
  }
  return {};
}

void finish_boxes(const image::Frame& frame, const fbs::Detection& params, Answer* answer) {
  const auto width = static_cast<float>(frame.seen_width()), height = static_cast<float>(frame.seen_height());
  std::erase_if(answer->detections, [=](ferry_detection& found) {
    ferry_box& b = found.box;
    b = {std::clamp(b.left, 0.0f, width), std::clamp(b.top, 0.0f, height), std::clamp(b.right, 0.0f, width),
         std::clamp(b.bottom, 0.0f, height)};
    return !(area(b) > 0);
  });
  // The scores are in the order in which landmarks were found.
  std::vector<float> scores;
  if (!answer->landmark_scores.empty()) {
    for (const ferry_detection& found : answer->detections) {
      const auto first = answer->landmark_scores.begin() + (found.landmarks - answer->landmarks.data()) / 2;
      scores.insert(scores.end(), first, first + static_cast<std::ptrdiff_t>(found.landmark_count));
    }
  }
  answer->landmark_scores.swap(scores);
  if (const auto* names = params.points())
    for (const flatbuffers::String* name : *names) answer->landmark_names.push_back(name->c_str());
  if (const auto* lines = params.lines()) answer->landmark_lines = {lines->data(), lines->size()};
}

Status detect(Networks& networks, const TaskRequest& request, Answer* answer) {
  const fbs::Detection& params = *networks.graph().postprocess()->params_as_Detection();
  FERRY_TRY(find_objects(networks, request.frame, params, answer));
  finish_boxes(request.frame, params, answer);
  return {};
}

}  // namespace ferry::task
