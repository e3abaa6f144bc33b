#include <algorithm>
#include <cmath>

#include "sdk/task/crop.h"
#include "sdk/task/labels.h"

namespace ferry::task {
namespace {

// Maximum length of a line's image in pixels.
constexpr int kLongestSide = 4096;
// Lengths are rounded up to multiples, because a session plans for each new length.
constexpr int kLengthStep = 32;

int pixels(float half_side) { return std::clamp(static_cast<int>(std::lrint(2 * half_side)), 1, kLongestSide); }

// The session of the recognition graph. Its ports are verified (sdk/model/verify_recipes.h).
class LineReader {
 public:
  explicit LineReader(Session& session) : session_(session), graph_(session.model().graph()) {}

  Status read(const image::View& image, const LineBox& box, std::string* text, float* score) {
    const fbs::Preprocess& recipe = *graph_.preprocess();
    image::Pixels line;
    FERRY_TRY(crop(image, box, pixels(box.along.length()), pixels(box.down.length()), &line));
    const TensorId input = graph_.inputs()->Get(0)->tensor();
    image::Prepared prepared;
    FERRY_TRY(image::prepare(recipe, line.view(), &prepared));
    // The declared length is the minimum; shorter lines are padded.
    const int minimum = graph_.tensors()->Get(index_of(input))->shape()->Get(2);
    const int length = (prepared.width + kLengthStep - 1) / kLengthStep * kLengthStep;
    Shape shape = session_.shape(input);
    image::Seen seen = prepared;
    seen.height = shape[1];
    seen.width = shape[2] = std::max(minimum, std::min(length, recipe.resize_w()));
    if (shape != session_.shape(input)) FERRY_TRY(session_.resize(0, shape));
    FERRY_TRY(image::normalize(recipe, seen, static_cast<float*>(session_.data(input))));
    FERRY_TRY(session_.run());
    return decode(text, score);
  }

 private:
  // Greedy CTC decoding: the most probable label at each position; repeated labels are merged, and label 0 is the
  // blank.
  Status decode(std::string* text, float* score) const {
    const TensorId output = graph_.outputs()->Get(0)->tensor();
    const Shape& shape = session_.shape(output);
    if (shape.rank != 3 || shape[0] != 1) {
      return error(FERRY_SHAPE_MISMATCH, "output %s is not the result of one line",
                   graph_.outputs()->Get(0)->name()->c_str());
    }
    const float* row = static_cast<const float*>(session_.data(output));
    float sum = 0;
    int count = 0, former = 0;
    for (int i = 0; i < shape[1]; ++i, row += shape[2]) {
      int best = 0;
      for (int k = 1; k < shape[2]; ++k)
        if (row[k] > row[best]) best = k;
      if (best != 0 && best != former) {
        *text += label_of(graph_, best);
        sum += row[best];
        ++count;
      }
      former = best;
    }
    // Blanks before and after a line may decode to spaces.
    while (text->ends_with(' ')) text->pop_back();
    text->erase(0, text->find_first_not_of(' '));
    *score = count > 0 ? sum / static_cast<float>(count) : 0;
    return {};
  }

  Session& session_;
  const fbs::Graph& graph_;
};

}  // namespace

Status read(Networks& networks, const TaskRequest& request, Answer* answer) {
  const image::View& image = request.image;
  Grid map;
  FERRY_TRY(run_image(networks, request.frame, &map));
  if (map.channels != 1)
    return error(FERRY_SHAPE_MISMATCH, "the map of text has %d channels, expected 1", map.channels);
  const fbs::Ocr& params = *networks.graph().postprocess()->params_as_Ocr();
  std::vector<LineBox> boxes = find_lines(map, params);
  const image::Geometry& g = networks.intake.plan().geometry;
  // From map cells to image pixels.
  const Extent extent = input_extent(networks.session);
  const auto x_scale = static_cast<float>(extent.width / (map.width * g.scale_x));
  const auto y_scale = static_cast<float>(extent.height / (map.height * g.scale_y));
  for (LineBox& box : boxes) {
    for (Vector* v : {&box.centre, &box.along, &box.down}) *v = {v->x * x_scale, v->y * y_scale};
    box.centre.x -= static_cast<float>(g.shift_x / g.scale_x);
    box.centre.y -= static_cast<float>(g.shift_y / g.scale_y);
    turn_upright(&box);
  }
  sort_as_read(&boxes);

  LineReader reader(*networks.second);
  const int total = static_cast<int>(boxes.size()) + 1;
  int done = 0;
  const auto tell = [&] {
    if (request.progress.report) request.progress.report(request.progress.user, ++done, total);
  };
  tell();
  for (LineBox& box : boxes) {
    std::string text;
    ferry_line found{};
    FERRY_TRY(reader.read(image, box, &text, &found.score));
    // A steep line may also be read from its other end.
    if (std::fabs(box.along.x) < std::fabs(box.along.y)) {
      LineBox turned = box;
      turned.turn();
      turned.turn();
      std::string other;
      float score = 0;
      FERRY_TRY(reader.read(image, turned, &other, &score));
      if (score > found.score) {
        box = turned;
        text.swap(other);
        found.score = score;
      }
    }
    tell();
    if (!(found.score >= params.text_threshold()) || text.empty()) continue;
    for (int i = 0; i < 4; ++i) {
      const Vector corner = box.corner(i);
      found.corners[2 * i] = std::clamp(corner.x, 0.0f, static_cast<float>(image.width));
      found.corners[2 * i + 1] = std::clamp(corner.y, 0.0f, static_cast<float>(image.height));
    }
    answer->lines.push_back(found);
    answer->texts.push_back(static_cast<std::string&&>(text));
  }
  for (size_t i = 0; i < answer->lines.size(); ++i) answer->lines[i].text = answer->texts[i].c_str();
  return {};
}

}  // namespace ferry::task
