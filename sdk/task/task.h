// The tasks of blobs: one function per task runs the networks on an image and computes the answer.
#pragma once

#include <ferry/task.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/graph/session.h"
#include "sdk/image/enhance.h"
#include "sdk/image/intake.h"
#include "sdk/image/pixels.h"

namespace ferry::task {

struct TaskRequest {
  image::Frame frame;  // empty: the last run's
  image::View image;   // its pixels, for tasks that do not accept frames
  image::View mask;    // null data: none
  int top = 0;
  int tile = 0;
  image::Progress progress;
  std::span<const ferry_point> points;
  const ferry_box* box = nullptr;
  int mask_index = 0;
  bool refine = false;
};

// Memory of a ferry_answer.
struct Answer {
  std::vector<ferry_class> classes;
  std::vector<float> values;
  std::vector<uint16_t> labels;
  image::Pixels pixels;  // of a mask or an image
  int width = 0, height = 0;
  float minimum = 0, maximum = 0;
  ferry_sense sense = FERRY_SENSE_NEARNESS;
  float quality = 0;
  std::vector<ferry_detection> detections;
  std::vector<float> landmarks;  // of all detections
  std::vector<float> landmark_scores;
  std::vector<const char*> landmark_names;
  std::span<const uint16_t> landmark_lines;  // two of each
  std::vector<ferry_line> lines;
  std::vector<std::string> texts;  // of the lines
};

// The networks of a task, and results kept between runs.
struct Networks {
  Session& session;           // of the model's graph
  Session* second = nullptr;  // of the second graph, which the task's parameters name
  image::Intake intake = {};
  // Embedding of the last image, for tasks that accept further prompts for it.
  bool encoded = false;
  int width = 0, height = 0;
  std::vector<float> former = {};  // the network's last mask, before thresholding
  bool plain = false;              // `second` last ran for this image, without a former mask

  const fbs::Graph& graph() const { return session.model().graph(); }
};

using Run = Status (*)(Networks& networks, const TaskRequest& request, Answer* answer);

Status classify(Networks& networks, const TaskRequest& request, Answer* answer);
Status embed(Networks& networks, const TaskRequest& request, Answer* answer);
Status enhance(Networks& networks, const TaskRequest& request, Answer* answer);
Status depth(Networks& networks, const TaskRequest& request, Answer* answer);
Status label(Networks& networks, const TaskRequest& request, Answer* answer);
Status inpaint(Networks& networks, const TaskRequest& request, Answer* answer);
Status segment(Networks& networks, const TaskRequest& request, Answer* answer);
Status matte(Networks& networks, const TaskRequest& request, Answer* answer);
Status detect(Networks& networks, const TaskRequest& request, Answer* answer);
Status read(Networks& networks, const TaskRequest& request, Answer* answer);
Status find_landmarks(Networks& networks, const TaskRequest& request, Answer* answer);

// One task. Tasks without `run` need a session or a generator.
struct Entry {
  const char* name;  // "depth", for example
  Run run;
  ferry_answer_kind answer;
  uint32_t prompts;  // FERRY_PROMPT_...
  bool pixels;       // needs RGB pixels: does not accept frames
};

// The table is in sdk/task/tasks.cc.
const Entry& entry(fbs::Task task);
// The graph's task; Tensors if it has none.
fbs::Task task_of(const fbs::Graph& graph);
// The name of the task's second graph; null if it has none.
const char* second_graph(const fbs::Graph& graph);

}  // namespace ferry::task
