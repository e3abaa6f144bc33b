// detect_faces - finds faces and draws a box around each:
//
//     ferry convert version-RFB-320.onnx -o faces.ferry
//     detect_faces faces.ferry photo.jpg boxes.png
//
// For UltraFace (github.com/Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB), which answers in two tensors: for each
// of 4420 places `scores` (none, face) and `boxes`. Its exports give boxes as corners; with --offsets they are taken as
// what the network computes before that, offsets from the boxes that it was trained around, as in the simplified
// exports.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ferry/ferry.hpp>

namespace {

// All in parts of the picture: from 0, left and top, to 1.
struct Face {
  float left, top, right, bottom, probability;
  float area() const { return (right - left) * (bottom - top); }
};

// The picture fills the input, each value the mean of the pixels that it covers; colours from about -1 to 1.
void write_input(const ferry::Image& picture, const ferry::Tensor& input) {
  const int32_t height = input.shape[1], width = input.shape[2];
  float* value = input.begin();
  for (int32_t y = 0; y < height; ++y) {
    const int32_t top = y * picture.height() / height;
    const int32_t bottom = std::max((y + 1) * picture.height() / height, top + 1);
    for (int32_t x = 0; x < width; ++x) {
      const int32_t left = x * picture.width() / width;
      const int32_t right = std::max((x + 1) * picture.width() / width, left + 1);
      int64_t sums[3] = {};
      for (int32_t row = top; row < bottom; ++row)
        for (int32_t i = 3 * left; i < 3 * right; ++i) sums[i % 3] += picture.row(row)[i];
      const auto pixels = static_cast<float>((bottom - top) * (right - left));
      for (const int64_t sum : sums) *value++ = (static_cast<float>(sum) / pixels - 127) / 128;
    }
  }
}

// The boxes that offsets start from: squares of two or three sizes around every cell of four grids, in the order of the
// outputs.
std::vector<Face> prior_boxes(int32_t width, int32_t height) {
  const int32_t steps[] = {8, 16, 32, 64};  // pixels a cell, where they divide the picture
  const std::vector<float> sizes[] = {{10, 16, 24}, {32, 48}, {64, 96}, {128, 192, 256}};
  std::vector<Face> priors;
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  for (int i = 0; i < 4; ++i) {
    const int32_t rows = (height + steps[i] - 1) / steps[i], columns = (width + steps[i] - 1) / steps[i];
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t column = 0; column < columns; ++column)
        for (const float size : sizes[i]) {
          const float x = (static_cast<float>(column) + 0.5f) / static_cast<float>(columns);
          const float y = (static_cast<float>(row) + 0.5f) / static_cast<float>(rows);
          const float half_width = std::min(size / w, 1.0f) / 2, half_height = std::min(size / h, 1.0f) / 2;
          priors.push_back({x - half_width, y - half_height, x + half_width, y + half_height, 0});
        }
  }
  return priors;
}

// `offsets`: of the centre in tenths of the prior box, of the logarithm of its sides in fifths.
Face move(const Face& prior, const float* offsets) {
  const float width = prior.right - prior.left, height = prior.bottom - prior.top;
  const float x = (prior.left + prior.right) / 2 + 0.1f * offsets[0] * width;
  const float y = (prior.top + prior.bottom) / 2 + 0.1f * offsets[1] * height;
  const float half_width = width * std::exp(0.2f * offsets[2]) / 2;
  const float half_height = height * std::exp(0.2f * offsets[3]) / 2;
  return {x - half_width, y - half_height, x + half_width, y + half_height, 0};
}

// Shared area over the area of both together.
float overlap(const Face& a, const Face& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a.area() + b.area() - width * height);
}

// Non-maximum suppression: of boxes that overlap, which see the same face, the most probable stays.
std::vector<Face> best(std::vector<Face> faces) {
  std::sort(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.probability > b.probability; });
  std::vector<Face> kept;
  for (const Face& face : faces)
    if (std::none_of(kept.begin(), kept.end(), [&](const Face& k) { return overlap(k, face) > 0.3f; }))
      kept.push_back(face);
  return kept;
}

void draw(ferry::Image& picture, const Face& face) {
  const auto scaled = [](float part, int32_t size) {
    return std::clamp(static_cast<int32_t>(part * static_cast<float>(size)), 0, size - 1);
  };
  const int32_t left = scaled(face.left, picture.width()), right = scaled(face.right, picture.width());
  const int32_t top = scaled(face.top, picture.height()), bottom = scaled(face.bottom, picture.height());
  const int32_t line = 1 + picture.width() / 300;
  for (int32_t y = top; y <= bottom; ++y)
    for (int32_t x = left; x <= right; ++x) {
      if (std::min({x - left, right - x, y - top, bottom - y}) >= line) continue;
      const uint8_t green[] = {40, 230, 60};
      std::copy(green, green + 3, picture.row(y) + 3 * x);
    }
}

ferry::Status detect(const char* blob, const char* source, const char* destination, bool offsets) {
  ferry::Result<ferry::Model> model = ferry::Model::open(blob);
  if (!model) return model.status();
  ferry::Result<ferry::Session> session = model->session();
  if (!session) return session.status();
  ferry::Result<ferry::Image> picture = ferry::Image::load(source);
  if (!picture) return picture.status();

  const ferry::Tensor input = session->input(0);
  write_input(*picture, input);
  if (ferry::Status run = session->run(); !run) return run;
  const ferry::Tensor scores = session->output(0), boxes = session->output(1);
  const std::vector<Face> priors = prior_boxes(input.shape[2], input.shape[1]);
  std::vector<Face> faces;
  for (size_t i = 0; i < priors.size() && 4 * i < boxes.size(); ++i) {
    const float probability = scores[2 * i + 1];
    if (probability < 0.7f) continue;
    const float* box = &boxes[4 * i];
    Face face = offsets ? move(priors[i], box) : Face{box[0], box[1], box[2], box[3], 0};
    face.probability = probability;
    faces.push_back(face);
  }

  const auto width = static_cast<float>(picture->width()), height = static_cast<float>(picture->height());
  for (const Face& face : best(faces)) {
    std::printf("%5.1f%%  %.0f,%.0f to %.0f,%.0f\n", static_cast<double>(100 * face.probability),
                static_cast<double>(face.left * width), static_cast<double>(face.top * height),
                static_cast<double>(face.right * width), static_cast<double>(face.bottom * height));
    draw(*picture, face);
  }
  return picture->save_png(destination);
}

}  // namespace

int main(int argc, char** argv) {
  const bool offsets = argc == 5 && std::strcmp(argv[1], "--offsets") == 0;
  if (argc != 4 && !offsets) {
    std::fprintf(stderr, "usage: detect_faces [--offsets] MODEL.ferry PICTURE OUTPUT.png\n");
    return 2;
  }
  const ferry::Status status = detect(argv[argc - 3], argv[argc - 2], argv[argc - 1], offsets);
  if (!status) std::fprintf(stderr, "detect_faces: %s\n", status.error().c_str());
  return status ? 0 : 2;
}
