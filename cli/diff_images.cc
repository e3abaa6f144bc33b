#include "cli/diff_images.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/agreement.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "sdk/image/codec.h"
#include "sdk/image/resize.h"

namespace ferry::cli {
namespace {

constexpr size_t kWorst = 4;
constexpr int kPanelWidth = 480, kGap = 8;

struct Compared {
  std::string image;
  int8::Score score;
  std::string words;  // the best classes
  double order = 0;   // larger is worse
};

image::Pixels load(const std::string& path) {
  image::Pixels pixels;
  check(image::load(path.c_str(), &pixels));
  return pixels;
}

// What is drawn of an answer: boxes and lines on the image, classes and depth as colours, a mask over the image.
image::Pixels drawn(const ferry_answer& answer, const std::string& path) {
  image::Pixels out = load(path);
  const image::View view = out.view();
  const ferry_image whole = {const_cast<uint8_t*>(view.data), view.width, view.height,
                             static_cast<int32_t>(view.stride), false};
  if (answer.kind == FERRY_ANSWER_BOXES || answer.kind == FERRY_ANSWER_LINES) {
    ferry_image result{};
    check(ferry_answer_draw(&answer, &whole, &result));
    out.adopt(result.pixels, result.width, result.height, 3);
    return out;
  }
  if (answer.kind == FERRY_ANSWER_IMAGE) {
    check(out.allocate(answer.image.width, answer.image.height, 3));
    for (int y = 0; y < answer.image.height; ++y)
      std::memcpy(out.row(y), answer.image.pixels + int64_t{y} * answer.image.stride, 3 * size_t(answer.image.width));
    return out;
  }
  const float span = answer.maximum > answer.minimum ? answer.maximum - answer.minimum : 1;
  for (int y = 0; y < view.height; ++y) {
    for (int x = 0; x < view.width; ++x) {
      const size_t i = static_cast<size_t>(y) * static_cast<size_t>(view.width) + static_cast<size_t>(x);
      uint8_t* rgb = out.row(y) + 3 * x;
      for (int c = 0; c < 3; ++c) {
        if (answer.kind == FERRY_ANSWER_MASK) {
          const int background = c == 2 ? 255 : 0, mask = answer.mask[i];
          rgb[c] = static_cast<uint8_t>((rgb[c] * mask + background * (255 - mask)) / 255);
        } else if (answer.kind == FERRY_ANSWER_LABELS) {
          rgb[c] =
              static_cast<uint8_t>((rgb[c] + 2 * (ferry_label_colour(answer.labels[i]) >> (16 - 8 * c) & 255)) / 3);
        } else if (answer.kind == FERRY_ANSWER_MAP) {
          const float part = (answer.map[i] - answer.minimum) / span;
          const float near = answer.sense == FERRY_SENSE_METRES ? 1 - part : part;
          rgb[c] = static_cast<uint8_t>(255 * std::clamp(std::isfinite(near) ? near : 0.0f, 0.0f, 1.0f));
        }
      }
    }
  }
  return out;
}

// One row per image: the first blob's answer, then the second's.
void write_worst(const std::vector<Compared>& worst, AnswerRunner* a, AnswerRunner* b, const std::string& path) {
  std::vector<image::Pixels> panels;
  int height = 0;
  for (const Compared& row : worst) {
    for (AnswerRunner* runner : {a, b}) {
      const image::Pixels whole = drawn(runner->run(row.image), row.image);
      const image::View view = whole.view();
      const int rows = std::max(1, static_cast<int>(int64_t{view.height} * kPanelWidth / view.width));
      check(image::resize(view, kPanelWidth, rows, fbs::Filter::Bilinear, &panels.emplace_back()));
    }
    height += panels.back().view().height + kGap;
  }
  image::Pixels page;
  check(page.allocate(2 * kPanelWidth + kGap, height, 3));
  for (int y = 0; y < height; ++y) std::memset(page.row(y), 255, 3 * static_cast<size_t>(2 * kPanelWidth + kGap));
  int top = 0;
  for (size_t i = 0; i < panels.size(); i += 2) {
    const int rows = std::min(panels[i].view().height, panels[i + 1].view().height);
    for (int y = 0; y < rows; ++y) {
      std::memcpy(page.row(top + y), panels[i].row(y), 3 * kPanelWidth);
      std::memcpy(page.row(top + y) + 3 * (kPanelWidth + kGap), panels[i + 1].row(y), 3 * kPanelWidth);
    }
    top += rows + kGap;
  }
  check(image::save_png(page.view(), path.c_str()));
}

// The best classes of the worst images are words.
std::string words_of(const KeptAnswer& a, const KeptAnswer& b) {
  if (a.kind == FERRY_ANSWER_CLASSES)
    return printed("class %d (%.3f) | class %d (%.3f)", a.best, a.probability, b.best, b.probability);
  if (a.kind == FERRY_ANSWER_BOXES) return printed("%zu boxes | %zu boxes", a.boxes.size(), b.boxes.size());
  if (a.kind == FERRY_ANSWER_LINES) return printed("%zu lines | %zu lines", a.lines.size(), b.lines.size());
  return "";
}

double badness(const KeptAnswer& a, const KeptAnswer& b, const int8::Score& score) {
  if (a.kind == FERRY_ANSWER_MAP) return score.value;
  if (a.kind != FERRY_ANSWER_CLASSES) return 1 - score.value;
  return score.value < 1 ? 1 + a.probability : std::fabs(a.probability - b.probability);
}

}  // namespace

bool diff_images(const DiffImagesOptions& o) {
  AnswerRunner a(open_model(o.a), o.threads, o.a), b(open_model(o.b), o.threads, o.b);
  const ferry_answer_kind kind = a.info().answer;
  if (kind != b.info().answer) fail("%s is for %s, %s for %s", o.a.c_str(), a.info().name, o.b.c_str(), b.info().name);
  if (!o.output.empty()) {
    if (kind == FERRY_ANSWER_CLASSES || kind == FERRY_ANSWER_VECTOR)
      fail("-o %s: %s has no answers that can be drawn", o.output.c_str(), a.info().name);
    check(image::check_suffix(o.output.c_str()));
  }
  std::vector<Compared> all;
  const std::vector<std::string> files = images_in(o.images);
  {
    ProgressLine line("image");
    for (const std::string& file : files) {
      line.update(static_cast<int>(&file - files.data()), static_cast<int>(files.size()));
      try {
        const KeptAnswer of_a = keep(a.run(file)), of_b = keep(b.run(file));
        const int8::Score score = agreement_of(of_a, of_b);
        all.push_back({file, score, words_of(of_a, of_b), badness(of_a, of_b, score)});
      } catch (const Error& error) {
        print_error("%s: left out\n", error.what());
      }
    }
  }
  if (all.empty()) fail("--images: none of %zu files is an image that can be read", files.size());
  int8::OutputError error;
  error.images = all.size();
  for (const Compared& image : all) {
    error.scores.push_back(image.score);
    error.agreeing += image.score.value >= 1 ? 1 : 0;
  }
  using Kind = int8::Bound::Kind;
  const int8::Bound bound{kind == FERRY_ANSWER_MAP                                     ? Kind::Depth
                          : kind == FERRY_ANSWER_BOXES                                 ? Kind::Boxes
                          : kind == FERRY_ANSWER_LINES || kind == FERRY_ANSWER_CLASSES ? Kind::Lines
                                                                                       : Kind::Iou,
                          0};
  const bool error_is_value = bound.kind == Kind::Depth;
  print("%s: %.4f over %zu images", agreement_name(kind), std::fabs(bound.measure(error)), all.size());
  if (std::isfinite(bound.limit(error)))
    print(", with 95 %% confidence at %s %.4f", error_is_value ? "most" : "least", bound.limit(error));
  print("\n");
  std::stable_sort(all.begin(), all.end(), [](const Compared& x, const Compared& y) { return x.order > y.order; });
  const bool same = all.front().order == 0;
  all.resize(std::min(all.size(), kWorst));
  std::erase_if(all, [](const Compared& image) { return image.order == 0; });
  if (!all.empty()) print("\nworst images\n");
  for (const Compared& image : all)
    print("%10.4f  %s%s%s\n", image.score.value, image.image.c_str(), image.words.empty() ? "" : "  ",
          image.words.c_str());
  if (!o.output.empty() && !all.empty()) {
    write_worst(all, &a, &b, o.output);
    print("%s: %s left, %s right\n", o.output.c_str(), o.a.c_str(), o.b.c_str());
  }
  return same;
}

}  // namespace ferry::cli
