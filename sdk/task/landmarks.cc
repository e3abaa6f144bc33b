#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sdk/image/upright.h"
#include "sdk/task/crop.h"
#include "sdk/task/detect.h"
#include "sdk/task/labels.h"

namespace ferry::task {
namespace {

// Detections of one object lead to nearly equal points: boxes that overlap by more are one object.
constexpr float kSameObject = 0.7f;
// Pixels; a crop farther away is that of a network whose output is no place.
constexpr float kFarthest = 1 << 20;

Vector point(const ferry_detection& found, size_t index) {
  return {found.landmarks[2 * index], found.landmarks[2 * index + 1]};
}

// The crop of an object; false if its values are not finite, or there is none. `aspect`: width by height.
bool crop_of(const fbs::Landmarks& params, const ferry_detection& found, float aspect, LineBox* out) {
  const ferry_box& b = found.box;
  Vector centre = {(b.left + b.right) / 2, (b.top + b.bottom) / 2}, half = {b.right - centre.x, b.bottom - centre.y};
  float turn = 0;  // clockwise, in radians
  if (params.start() != params.end()) {
    if (std::max(params.start(), params.end()) >= found.landmark_count) return false;
    const Vector start = point(found, params.start()), end = point(found, params.end());
    const Vector way = {end.x - start.x, end.y - start.y};
    turn = params.angle() * std::numbers::pi_v<float> / 180 - std::atan2(-way.y, way.x);
    if (params.around_start()) {
      centre = start;
      half.x = half.y = way.length();
    }
  }
  const Vector along = {std::cos(turn), std::sin(turn)};
  const float right = 2 * half.x * params.shift_x(), below = 2 * half.y * params.shift_y();
  centre.x += right * along.x - below * along.y;
  centre.y += right * along.y + below * along.x;
  const float width = std::max(half.x, half.y * aspect) * params.scale(), height = width / aspect;
  *out = {centre, {width * along.x, width * along.y}, {-height * along.y, height * along.x}};
  return width > 0 && width + height + std::fabs(centre.x) + std::fabs(centre.y) < kFarthest;
}

// The session of the graph that finds the points in a crop. Its ports are verified (sdk/model/verify_recipes.h).
class PointFinder {
 public:
  explicit PointFinder(Session& session)
      : session_(session), graph_(session.model().graph()), extent_(input_extent(session)) {}

  float aspect() const { return static_cast<float>(extent_.width) / static_cast<float>(extent_.height); }
  size_t points() const { return static_cast<size_t>(shape("points")[1]); }
  bool has_scores() const { return find("point_scores") != nullptr; }

  Status run(const image::View& image, const LineBox& box) {
    image::Pixels pixels;
    FERRY_TRY(crop(image, box, extent_.width, extent_.height, &pixels));
    FERRY_TRY(set_image(session_, image::frame_of(pixels.view()), &intake_));
    return session_.run();
  }
  // Values of an output of the last run.
  const float* values(const char* name) const { return static_cast<const float*>(session_.data(find(name)->tensor())); }
  // The most probable class; 0 if the graph has none.
  int best_class() const {
    if (!find("classes")) return 0;
    const float* shares = values("classes");
    return static_cast<int>(std::max_element(shares, shares + shape("classes")[1]) - shares);
  }
  const char* label(int index) const { return label_of(graph_, index); }

 private:
  const fbs::Port* find(const char* name) const {
    for (const fbs::Port* port : *graph_.outputs())
      if (std::strcmp(port->name()->c_str(), name) == 0) return port;
    return nullptr;
  }
  const Shape& shape(const char* name) const { return session_.shape(find(name)->tensor()); }

  Session& session_;
  const fbs::Graph& graph_;
  Extent extent_;
  image::Intake intake_;
};

// Appends the points of the last run, in the image's pixels. The vectors' memory is reserved.
ferry_detection object_of(const PointFinder& finder, const LineBox& crop, Answer* answer) {
  const size_t count = finder.points();
  const float* xy = finder.values("points");
  float* to = answer->landmarks.data() + answer->landmarks.size();
  ferry_detection object{};
  object.landmarks = to;
  object.landmark_count = count;
  object.box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (size_t i = 0; i < count; ++i, xy += 2) {
    const float a = 2 * xy[0] - 1, b = 2 * xy[1] - 1;
    const float x = crop.centre.x + a * crop.along.x + b * crop.down.x;
    const float y = crop.centre.y + a * crop.along.y + b * crop.down.y;
    answer->landmarks.push_back(x);
    answer->landmarks.push_back(y);
    object.box = {std::fmin(object.box.left, x), std::fmin(object.box.top, y), std::fmax(object.box.right, x),
                  std::fmax(object.box.bottom, y)};
  }
  if (finder.has_scores()) {
    const float* scores = finder.values("point_scores");
    answer->landmark_scores.insert(answer->landmark_scores.end(), scores, scores + count);
  }
  object.score = *finder.values("score");
  object.index = finder.best_class();
  object.label = finder.label(object.index);
  return object;
}

}  // namespace

Status find_landmarks(Networks& networks, const TaskRequest& request, Answer* answer) {
  const fbs::Landmarks& params = *networks.graph().postprocess()->params_as_Landmarks();
  Answer boxes;
  FERRY_TRY(find_objects(networks, request.frame, *params.detection(), &boxes));
  image::View image = request.image;
  image::Pixels pixels;
  if (image.data == nullptr && !boxes.detections.empty()) {
    if (request.frame.memory != nullptr)
      return error(FERRY_UNSUPPORTED, "landmarks need pixels: a frame in a GPU's memory has none that can be read");
    FERRY_TRY(image::upright(request.frame, &pixels));
    image = pixels.view();
  }
  PointFinder finder(*networks.second);
  // Reserved, because detections point into it.
  answer->landmarks.reserve(boxes.detections.size() * finder.points() * 2);
  const int total = static_cast<int>(boxes.detections.size()) + 1;
  int done = 0;
  const auto tell = [&] {
    if (request.progress.report) request.progress.report(request.progress.user, ++done, total);
  };
  tell();
  std::vector<ferry_detection>& found = answer->detections;
  for (const ferry_detection& box : boxes.detections) {
    LineBox crop;
    if (crop_of(params, box, finder.aspect(), &crop)) {
      FERRY_TRY(finder.run(image, crop));
      if (*finder.values("score") >= params.threshold()) {
        const ferry_detection object = object_of(finder, crop, answer);
        const bool known = std::any_of(found.begin(), found.end(), [&](const ferry_detection& other) {
          return overlap(other.box, object.box) > kSameObject;
        });
        const auto better = [](const ferry_detection& a, const ferry_detection& b) { return a.score > b.score; };
        if (!known) found.insert(std::upper_bound(found.begin(), found.end(), object, better), object);
      }
    }
    tell();
  }
  finish_boxes(request.frame, *params.detection(), answer);
  return {};
}

}  // namespace ferry::task
