// What a blob is for: one function a task, which runs the networks on an image and makes an answer of what they give.
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

struct Request {
  image::Frame frame;  // not given: the last run's
  image::View image;   // its pixels, for tasks that take no frames
  image::View mask;    // without data: none
  int top = 0;
  int tile = 0;
  image::Progress progress;
  std::span<const ferry_point> points;
  const ferry_box* box = nullptr;
  int mask_index = 0;
  bool refine = false;
};

// What a ferry_answer points into.
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
  std::vector<ferry_line> lines;
  std::vector<std::string> texts;  // of the lines
};

// What a task runs, and what it remembers from run to run.
struct Networks {
  Session& session;           // of the blob's graph
  Session* second = nullptr;  // of the graph that the task's parameters name
  image::Intake intake = {};
  // Of the last image, where the task can be asked again about it.
  bool encoded = false;
  int width = 0, height = 0;
  std::vector<float> former = {};  // the mask that was answered, as the network gave it
  bool plain = false;              // `second` last ran for this image, without a former mask

  const fbs::Graph& graph() const { return session.model().graph(); }
};

using Run = Status (*)(Networks& networks, const Request& request, Answer* answer);

Status classify(Networks& networks, const Request& request, Answer* answer);
Status embed(Networks& networks, const Request& request, Answer* answer);
Status enhance(Networks& networks, const Request& request, Answer* answer);
Status depth(Networks& networks, const Request& request, Answer* answer);
Status label(Networks& networks, const Request& request, Answer* answer);
Status inpaint(Networks& networks, const Request& request, Answer* answer);
Status segment(Networks& networks, const Request& request, Answer* answer);
Status matte(Networks& networks, const Request& request, Answer* answer);
Status detect(Networks& networks, const Request& request, Answer* answer);
Status read(Networks& networks, const Request& request, Answer* answer);

// One task. Of those that have no `run`, sessions and generators are the way.
struct Entry {
  const char* name;  // in words
  Run run;
  ferry_answer_kind answer;
  uint32_t prompts;  // FERRY_PROMPT_...
  bool pixels;       // it works on the image's own: a frame is not enough
};

// sdk/task/tasks.cc has the table.
const Entry& entry(fbs::Task task);
// The graph's; Tensors where it says nothing.
fbs::Task task_of(const fbs::Graph& graph);
// The graph that the task's parameters name; null where they name none.
const char* second_graph(const fbs::Graph& graph);

}  // namespace ferry::task
