#include "cli/agreement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "converter/pack/pack.h"
#include "sdk/image/codec.h"
#include "sdk/task/detect.h"

namespace ferry::cli {
namespace {

// Calls `use` with the index of pixels on a grid of at most kGrid rows and columns.
template <typename Use>
void on_grid(int width, int height, const Use& use) {
  constexpr int kGrid = 256;
  const int rows = std::min(height, kGrid), columns = std::min(width, kGrid);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      use(static_cast<size_t>(static_cast<int64_t>(y) * height / rows * width +
                              static_cast<int64_t>(x) * width / columns));
}

int8::Score boxes_agreement(const KeptAnswer& a, const KeptAnswer& b) {
  constexpr double kSame = 0.5;
  std::vector<bool> taken(b.boxes.size());
  size_t matched = 0;
  for (const KeptAnswer::Box& box : a.boxes) {
    size_t best = b.boxes.size();
    double most = kSame;
    for (size_t i = 0; i < b.boxes.size(); ++i) {
      const auto value = static_cast<double>(task::overlap(box.box, b.boxes[i].box));
      if (taken[i] || b.boxes[i].index != box.index || value < most) continue;
      most = value;
      best = i;
    }
    if (best == b.boxes.size()) continue;
    taken[best] = true;
    ++matched;
  }
  const double pairs = static_cast<double>(a.boxes.size() + b.boxes.size()) / 2;
  return {pairs > 0 ? static_cast<double>(matched) / pairs : 1, pairs};
}

double labels_agreement(const KeptAnswer& a, const KeptAnswer& b) {
  std::map<uint16_t, std::pair<double, double>> by_class;  // intersection, union
  for (size_t i = 0; i < a.labels.size(); ++i) {
    ++by_class[a.labels[i]].second;
    if (a.labels[i] == b.labels[i])
      ++by_class[a.labels[i]].first;
    else
      ++by_class[b.labels[i]].second;
  }
  double sum = 0;
  for (const auto& [unused, areas] : by_class) sum += areas.first / areas.second;
  return by_class.empty() ? 1 : sum / static_cast<double>(by_class.size());
}

double mask_agreement(const KeptAnswer& a, const KeptAnswer& b) {
  double intersection = 0, all = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    intersection += static_cast<double>(std::min(a.values[i], b.values[i]));
    all += static_cast<double>(std::max(a.values[i], b.values[i]));
  }
  return all > 0 ? intersection / all : 1;
}

double map_error(const KeptAnswer& a, const KeptAnswer& b) {
  double low = INFINITY;
  for (const float v : a.values)
    if (std::isfinite(v)) low = std::min(low, static_cast<double>(v));
  double error = 0, whole = 0, ratios = 0;
  size_t count = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double x = static_cast<double>(a.values[i]), difference = std::fabs(static_cast<double>(b.values[i]) - x);
    if (!std::isfinite(x) || !std::isfinite(difference)) continue;
    error += difference;
    whole += x - low;
    if (x > 0) ratios += difference / x, ++count;
  }
  if (a.sense == FERRY_SENSE_METRES) return count > 0 ? ratios / static_cast<double>(count) : 0;
  return whole > 0 ? error / whole : error > 0 ? 1 : 0;
}

double cosine(const KeptAnswer& a, const KeptAnswer& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double x = static_cast<double>(a.values[i]), y = static_cast<double>(b.values[i]);
    product += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return of_a > 0 && of_b > 0 ? product / std::sqrt(of_a * of_b) : 0;
}

double image_agreement(const KeptAnswer& a, const KeptAnswer& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += std::fabs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]));
  return a.values.empty() ? 1 : 1 - sum / static_cast<double>(a.values.size());
}

bool answers_fit(int8::Bound::Kind kind, ferry_answer_kind answer) {
  switch (kind) {
    case int8::Bound::Kind::Iou: return answer == FERRY_ANSWER_MASK || answer == FERRY_ANSWER_LABELS;
    case int8::Bound::Kind::Boxes: return answer == FERRY_ANSWER_BOXES;
    case int8::Bound::Kind::Depth: return answer == FERRY_ANSWER_MAP;
    case int8::Bound::Kind::Lines: return answer == FERRY_ANSWER_LINES;
    default: return true;
  }
}

}  // namespace

AnswerRunner::AnswerRunner(ModelHandle model, const ThreadOptions& threads, const std::string& name)
    : memory_(nullptr, std::free), model_(std::move(model)) {
  open(threads, name);
}

AnswerRunner::AnswerRunner(std::span<const std::byte> blob, const ThreadOptions& threads, const std::string& name)
    : memory_(aligned_copy(blob)) {
  ferry_model* model = nullptr;
  check(ferry_model_open_memory(memory_.get(), blob.size(), &model));
  model_.reset(model);
  open(threads, name);
}

void AnswerRunner::open(const ThreadOptions& threads, const std::string& name) {
  info_.struct_size = sizeof info_;
  check(ferry_model_task(model_.get(), &info_));
  if (info_.answer == FERRY_ANSWER_NONE) fail("%s has no task, so it answers no image", name.c_str());
  if (info_.prompts & (FERRY_PROMPT_MASK | FERRY_PROMPT_POINTS))
    fail("%s needs a prompt beside the image: its answers are not compared", name.c_str());
  const ferry_session_options options = session_options(threads);
  ferry_task* task = nullptr;
  check(ferry_task_open(model_.get(), &options, &task));
  task_.reset(task);
}

const ferry_answer& AnswerRunner::run(const std::string& image) {
  image::Pixels pixels;
  check(image::load(image.c_str(), &pixels));
  const image::View view = pixels.view();
  image_ = {const_cast<uint8_t*>(view.data), view.width, view.height, static_cast<int32_t>(view.stride), false};
  ferry_request request{};
  request.struct_size = sizeof request;
  request.image = &image_;
  answer_ = {};
  answer_.struct_size = sizeof answer_;
  check(ferry_task_run(task_.get(), &request, &answer_));
  return answer_;
}

KeptAnswer keep(const ferry_answer& answer) {
  KeptAnswer out{.kind = answer.kind, .sense = answer.sense, .values = {}, .labels = {}, .boxes = {}, .lines = {}};
  switch (answer.kind) {
    case FERRY_ANSWER_CLASSES:
      if (answer.class_count == 0) break;
      out.best = answer.classes[0].index;
      out.probability = static_cast<double>(answer.classes[0].probability);
      break;
    case FERRY_ANSWER_VECTOR: out.values.assign(answer.vector, answer.vector + answer.vector_size); break;
    case FERRY_ANSWER_MAP:
      on_grid(answer.width, answer.height, [&](size_t i) { out.values.push_back(answer.map[i]); });
      break;
    case FERRY_ANSWER_LABELS:
      on_grid(answer.width, answer.height, [&](size_t i) { out.labels.push_back(answer.labels[i]); });
      break;
    case FERRY_ANSWER_MASK:
      on_grid(answer.width, answer.height,
              [&](size_t i) { out.values.push_back(static_cast<float>(answer.mask[i]) / 255); });
      break;
    case FERRY_ANSWER_IMAGE:
      on_grid(answer.image.width, answer.image.height, [&](size_t i) {
        const size_t width = static_cast<size_t>(answer.image.width), y = i / width, x = i % width;
        for (size_t c = 0; c < 3; ++c)
          out.values.push_back(
              static_cast<float>(answer.image.pixels[y * static_cast<size_t>(answer.image.stride) + 3 * x + c]) / 255);
      });
      break;
    case FERRY_ANSWER_BOXES:
      for (size_t i = 0; i < answer.box_count; ++i) out.boxes.push_back({answer.boxes[i].box, answer.boxes[i].index});
      break;
    case FERRY_ANSWER_LINES:
      for (size_t i = 0; i < answer.line_count; ++i) out.lines.emplace_back(answer.lines[i].text);
      break;
    case FERRY_ANSWER_NONE: break;
  }
  return out;
}

int8::Score agreement_of(const KeptAnswer& a, const KeptAnswer& b) {
  if (a.kind != b.kind || a.values.size() != b.values.size() || a.labels.size() != b.labels.size())
    fail("the answers are of different kinds or sizes");
  switch (a.kind) {
    case FERRY_ANSWER_CLASSES: return {a.best == b.best ? 1.0 : 0.0};
    case FERRY_ANSWER_VECTOR: return {cosine(a, b)};
    case FERRY_ANSWER_MAP: return {map_error(a, b)};
    case FERRY_ANSWER_LABELS: return {labels_agreement(a, b)};
    case FERRY_ANSWER_MASK: return {mask_agreement(a, b)};
    case FERRY_ANSWER_IMAGE: return {image_agreement(a, b)};
    case FERRY_ANSWER_BOXES: return boxes_agreement(a, b);
    case FERRY_ANSWER_LINES: return {a.lines == b.lines ? 1.0 : 0.0};
    case FERRY_ANSWER_NONE: break;
  }
  return {1};
}

const char* agreement_name(ferry_answer_kind kind) {
  switch (kind) {
    case FERRY_ANSWER_CLASSES: return "same best class";
    case FERRY_ANSWER_VECTOR: return "cosine of the embeddings";
    case FERRY_ANSWER_MAP: return "relative error of depth";
    case FERRY_ANSWER_LABELS:
    case FERRY_ANSWER_MASK: return "intersection over union";
    case FERRY_ANSWER_IMAGE: return "1 - mean difference of a sample";
    case FERRY_ANSWER_BOXES: return "boxes with a partner";
    case FERRY_ANSWER_LINES: return "same lines";
    case FERRY_ANSWER_NONE: break;
  }
  return "";
}

struct TaskAnswers::Expected {
  std::map<std::string, KeptAnswer> by_image;
};

TaskAnswers::TaskAnswers(ModelHandle model, const int8::Bound& bound, const ThreadOptions& threads,
                         const std::string& name, const std::vector<std::unique_ptr<Graph>>& graphs,
                         const size_t& index)
    : threads_(threads),
      runner_(std::move(model), threads, name),
      expected_(std::make_unique<Expected>()),
      graphs_(graphs),
      index_(index) {
  if (!answers_fit(bound.kind, runner_.info().answer))
    fail("--bound: %s is for %s, whose answers have no such bound", name.c_str(), runner_.info().name);
}

TaskAnswers::~TaskAnswers() = default;

std::vector<int8::Score> TaskAnswers::compare(Graph& quantised, const int8::Samples& samples) {
  std::vector<std::unique_ptr<Graph>> graphs;
  for (size_t i = 0; i < graphs_.size(); ++i) graphs.push_back((i == index_ ? quantised : *graphs_[i]).copy());
  AnswerRunner runner(pack(*joined(std::move(graphs))), threads_, "the quantised network");
  std::vector<int8::Score> out;
  const std::string* former = nullptr;
  for (const int8::Sample* sample : samples) {
    if (former != nullptr && *former == sample->name) continue;  // crops of one image follow each other
    former = &sample->name;
    auto expected = expected_->by_image.find(sample->name);
    if (expected == expected_->by_image.end())
      expected = expected_->by_image.emplace(sample->name, keep(runner_.run(sample->name))).first;
    out.push_back(agreement_of(expected->second, keep(runner.run(sample->name))));
  }
  return out;
}

}  // namespace ferry::cli
