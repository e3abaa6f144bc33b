// How far the answers of two blobs agree on images: boxes, masks, classes, depth, text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/sdk.h"
#include "converter/quantize/bound.h"

namespace ferry::cli {

// An answer in a form of bounded size: maps and masks at 65,536 of their pixels at most.
struct KeptAnswer {
  struct Box {
    ferry_box box;
    int32_t index;  // of the class
  };

  ferry_answer_kind kind = FERRY_ANSWER_NONE;
  ferry_sense sense = FERRY_SENSE_NEARNESS;
  std::vector<float> values;     // MAP, MASK (0 to 1), VECTOR, IMAGE (0 to 1)
  std::vector<uint16_t> labels;  // LABELS
  std::vector<Box> boxes;
  std::vector<std::string> lines;
  int best = -1;           // CLASSES
  double probability = 0;  // of the best class
};

// Runs a blob's task on image files.
class AnswerRunner {
 public:
  // Throws Error if the blob has no task, or its task needs prompts.
  AnswerRunner(ModelHandle model, const ThreadOptions& threads, const std::string& name);
  // The same of a blob in memory.
  AnswerRunner(std::span<const std::byte> blob, const ThreadOptions& threads, const std::string& name);

  const ferry_task_info& info() const { return info_; }
  // Valid until the next call.
  const ferry_answer& run(const std::string& image);

 private:
  void open(const ThreadOptions& threads, const std::string& name);

  AlignedBytes memory_;
  ModelHandle model_;
  TaskHandle task_;
  ferry_task_info info_;
  ferry_answer answer_;
  ferry_image image_{};
};

KeptAnswer keep(const ferry_answer& answer);

// 0 to 1, 1 if they are equal; of MAP the relative error, 0 if they are equal:
// - CLASSES: whether the best class is the same
// - VECTOR: the cosine of the angle between them
// - LABELS: intersection over union, the mean over the classes that occur in either
// - MASK: the same of the covered area, soft edges counted by their share
// - BOXES: the share of both answers' boxes, which are counted in pairs, with a partner in the other of their class
//   and an intersection over union of at least a half
// - LINES: whether all lines are equal
// - MAP: mean |difference| / distance of metres; without a scale sum |difference| / sum (value - minimum)
// - IMAGE: 1 - the mean difference of a sample
int8::Score agreement_of(const KeptAnswer& a, const KeptAnswer& b);
// "mean intersection over union"...
const char* agreement_name(ferry_answer_kind kind);

// Judges quantised networks by the answers of the float blob `model`.
class TaskAnswers : public int8::Answers {
 public:
  // Throws Error if the blob's answers are not those of `bound`. `graphs`: of the blob that answers; compare() replaces
  // the one at `index`.
  TaskAnswers(ModelHandle model, const int8::Bound& bound, const ThreadOptions& threads, const std::string& name,
              const std::vector<std::unique_ptr<Graph>>& graphs, const size_t& index);
  ~TaskAnswers() override;

  std::vector<int8::Score> compare(Graph& quantised, const int8::Samples& samples) override;

 private:
  struct Expected;
  ThreadOptions threads_;
  AnswerRunner runner_;
  std::unique_ptr<Expected> expected_;
  const std::vector<std::unique_ptr<Graph>>& graphs_;
  const size_t& index_;
};

}  // namespace ferry::cli
