#include <array>

#include "sdk/operators/built_in.h"
#include "sdk/task/task.h"

namespace ferry::task {
namespace {

using Tasks = std::array<Entry, static_cast<size_t>(fbs::Task::MAX) + 1>;

// Removes the functions of tasks that are not built in.
constexpr Tasks built_in_of(Tasks tasks) {
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!built_in(static_cast<fbs::Task>(i))) tasks[i].run = nullptr;
  return tasks;
}

// In the order of fbs::Task.
constexpr Tasks kTasks = built_in_of({{
    {"tensors", nullptr, FERRY_ANSWER_NONE, 0, false},
    {"classification", classify, FERRY_ANSWER_CLASSES, 0, false},
    {"image to image", enhance, FERRY_ANSWER_IMAGE, FERRY_PROMPT_TILE, true},
    {"several classes at once", classify, FERRY_ANSWER_CLASSES, 0, false},
    {"embedding", embed, FERRY_ANSWER_VECTOR, 0, false},
    {"text", nullptr, FERRY_ANSWER_NONE, 0, false},
    {"depth", depth, FERRY_ANSWER_MAP, 0, false},
    {"semantic segmentation", label, FERRY_ANSWER_LABELS, 0, false},
    {"inpainting", inpaint, FERRY_ANSWER_IMAGE, FERRY_PROMPT_MASK, true},
    {"segmentation by prompts", segment, FERRY_ANSWER_MASK, FERRY_PROMPT_POINTS, false},
    {"matting", matte, FERRY_ANSWER_MASK, 0, false},
    {"detection", detect, FERRY_ANSWER_BOXES, 0, false},
    {"OCR", read, FERRY_ANSWER_LINES, 0, true},
    {"landmarks", find_landmarks, FERRY_ANSWER_BOXES, 0, false},
}});

}  // namespace

const Entry& entry(fbs::Task task) { return kTasks[static_cast<size_t>(task)]; }

fbs::Task task_of(const fbs::Graph& graph) {
  return graph.postprocess() != nullptr ? graph.postprocess()->task() : fbs::Task::Tensors;
}

const char* second_graph(const fbs::Graph& graph) {
  switch (task_of(graph)) {
    case fbs::Task::PromptedSegmentation:
      return graph.postprocess()->params_as_PromptedSegmentation()->graph()->c_str();
    case fbs::Task::Ocr: return graph.postprocess()->params_as_Ocr()->graph()->c_str();
    case fbs::Task::Landmarks: return graph.postprocess()->params_as_Landmarks()->graph()->c_str();
    default: return nullptr;
  }
}

}  // namespace ferry::task
