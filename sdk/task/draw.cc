#include "sdk/task/draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "sdk/operators/built_in.h"
#include "sdk/task/save.h"

namespace ferry::task {
namespace {

constexpr size_t kDenseLandmarks = 100;  // from so many on, landmarks are single pixels
constexpr float kVisible = 0.5f;         // minimum score of a landmark that is drawn

class Pen {
 public:
  Pen(image::Pixels& pixels, uint32_t colour, int width)
      : pixels_(pixels), size_(pixels.view()), colour_(colour), width_(width) {}

  // Draws a square of the pen's width at each point of the line; `width` is small compared to the image.
  void line(float x0, float y0, float x1, float y1) {
    const float length = std::max(std::fabs(x1 - x0), std::fabs(y1 - y0));
    if (!(length < 4.0f * image::kMaxSide)) return;
    const int steps = std::max(static_cast<int>(length), 1);
    for (int i = 0; i <= steps; ++i) {
      const float t = static_cast<float>(i) / static_cast<float>(steps);
      dot(x0 + (x1 - x0) * t, y0 + (y1 - y0) * t);
    }
  }

  void dot(float x, float y) {
    const float reach = static_cast<float>(width_) / 2;
    if (!(x > -reach && y > -reach && x < static_cast<float>(size_.width) + reach &&
          y < static_cast<float>(size_.height) + reach))
      return;
    const int left = static_cast<int>(std::lrint(x - reach)), top = static_cast<int>(std::lrint(y - reach));
    for (int row = std::max(top, 0); row < std::min(top + width_, size_.height); ++row) {
      for (int column = std::max(left, 0); column < std::min(left + width_, size_.width); ++column) {
        uint8_t* pixel = pixels_.row(row) + 3 * column;
        for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(colour_ >> (16 - 8 * c));
      }
    }
  }

 private:
  image::Pixels& pixels_;
  image::View size_;
  uint32_t colour_;
  int width_;
};

// In label colours, class 0 is black and the next ones are dark.
uint32_t line_colour(int index) {
  uint32_t colour = label_colour(index + 1);
  for (int shift = 0; shift < 24; shift += 8) {
    const uint32_t channel = colour >> shift & 0xff;
    if (channel > 0 && channel <= 0xc0) colour += 0x3fu << shift;
  }
  return colour;
}

void outline(Pen pen, const float* corners) {
  for (int i = 0; i < 4; ++i) {
    const float *from = corners + 2 * i, *to = corners + 2 * ((i + 1) % 4);
    pen.line(from[0], from[1], to[0], to[1]);
  }
}

const char* kind_name(ferry_answer_kind kind) {
  constexpr const char* kNames[] = {"NONE", "CLASSES", "VECTOR", "MAP", "LABELS", "MASK", "IMAGE"};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "that is unknown";
}

}  // namespace

Status draw(const ferry_answer& answer, const image::View& image, image::Pixels* out) {
  if (!any_built_in(fbs::Task::Detection, fbs::Task::Ocr, fbs::Task::Landmarks))
    return left_out("drawing of boxes and lines");
  if (answer.kind != FERRY_ANSWER_BOXES && answer.kind != FERRY_ANSWER_LINES) {
    return error(FERRY_INVALID_ARGUMENT,
                 "an answer of kind %s cannot be drawn: only BOXES and LINES can, on their image",
                 kind_name(answer.kind));
  }
  FERRY_TRY(out->allocate(image.width, image.height, 3));
  for (int y = 0; y < image.height; ++y) std::memcpy(out->row(y), image.row(y), static_cast<size_t>(image.width) * 3);
  // Two pixels on a small image, and the same proportion on a large one.
  const int width = std::max(2, std::max(image.width, image.height) / 320);
  for (size_t i = 0; i < answer.box_count; ++i) {
    const ferry_detection& d = answer.boxes[i];
    // Many points would hide the object.
    const int dot = d.landmark_count > kDenseLandmarks ? 1 : 2 * width + 1;
    Pen pen(*out, line_colour(d.index), width), points(*out, line_colour(d.index), dot);
    const ferry_box& b = d.box;
    const float corners[] = {b.left, b.top, b.right, b.top, b.right, b.bottom, b.left, b.bottom};
    outline(pen, corners);
    const float* scores = answer.landmark_scores ? answer.landmark_scores + i * d.landmark_count : nullptr;
    const auto seen = [&d, scores](size_t p) {
      return p < d.landmark_count && (scores == nullptr || scores[p] >= kVisible);
    };
    for (size_t k = 0; k < answer.landmark_line_count; ++k) {
      const size_t from = answer.landmark_lines[2 * k], to = answer.landmark_lines[2 * k + 1];
      if (!seen(from) || !seen(to)) continue;
      const float *begin = d.landmarks + 2 * from, *end = d.landmarks + 2 * to;
      pen.line(begin[0], begin[1], end[0], end[1]);
    }
    for (size_t p = 0; p < d.landmark_count; ++p)
      if (seen(p)) points.dot(d.landmarks[2 * p], d.landmarks[2 * p + 1]);
  }
  for (size_t i = 0; i < answer.line_count; ++i) outline(Pen(*out, line_colour(0), width), answer.lines[i].corners);
  return {};
}

}  // namespace ferry::task
