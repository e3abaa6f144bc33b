// The C API of task.h.
#include <ferry/task.h>

#include <cstddef>
#include <optional>

#include "sdk/api/frame.h"
#include "sdk/api/handles.h"
#include "sdk/api/view.h"
#include "sdk/operators/built_in.h"
#include "sdk/printable.h"
#include "sdk/task/draw.h"
#include "sdk/task/save.h"
#include "sdk/task/task.h"

struct ferry_task : ferry::Handle {
  std::unique_ptr<ferry_session> session;
  std::unique_ptr<ferry_session> second;            // of the second graph that the task's parameters name
  std::unique_ptr<ferry::task::Networks> networks;  // declared after the sessions that it uses
  ferry::task::Answer answer;
};

namespace {

using ferry::error;
using ferry::guarded;
using ferry::Status;
namespace fbs = ferry::fbs;
namespace task = ferry::task;

static_assert(static_cast<int>(FERRY_TASK_LANDMARKS) == static_cast<int>(fbs::Task::MAX),
              "ferry_task_kind and the schema's Task have the same values");

Status open(ferry_model& model, const ferry_session_options* options, ferry_task* out) {
  FERRY_TRY(ferry::create_session(model, options, &out->session));
  ferry::Session& session = *out->session->session;
  const fbs::Graph& graph = session.model().graph();
  const fbs::Task kind = task::task_of(graph);
  const task::Entry& entry = task::entry(kind);
  if (!ferry::built_in(kind)) return ferry::left_out(entry.name);
  if (entry.run == nullptr) {
    return error(FERRY_UNSUPPORTED, "'%.64s' has the task '%s', which needs a session or a generator instead",
                 ferry::text(graph.name()), entry.name);
  }
  out->networks.reset(new task::Networks{session});
  if (const char* name = task::second_graph(graph)) {
    ferry_session_options other;
    FERRY_TRY(ferry::read_options(options, &other));
    other.graph = name;
    FERRY_TRY(ferry::create_session(model, &other, &out->second));
    out->networks->second = out->second->session.get();
  }
  return {};
}

Status read(const ferry_request& given, const task::Entry& entry, ferry_request* request, task::TaskRequest* out) {
  FERRY_TRY(ferry::read_versioned(given, offsetof(ferry_request, refine) + sizeof(bool), "ferry_request", request));
  if (request->image != nullptr && request->frame != nullptr)
    return error(FERRY_INVALID_ARGUMENT, "request.image and request.frame are both set: one of them is the image");
  if (request->image != nullptr) {
    FERRY_TRY(ferry::view_of(*request->image, &out->image));
    out->frame = ferry::image::frame_of(out->image);
  } else if (request->frame != nullptr && entry.pixels) {
    return error(FERRY_INVALID_ARGUMENT, "%s needs RGB pixels: set request.image instead of request.frame", entry.name);
  } else if (request->frame != nullptr) {
    FERRY_TRY(ferry::read_frame(*request->frame, &out->frame));
  } else if (!(entry.prompts & FERRY_PROMPT_POINTS)) {
    return error(FERRY_INVALID_ARGUMENT, "request.image is NULL: this task needs one at each run");
  }
  if (request->mask != nullptr) FERRY_TRY(ferry::view_of(*request->mask, &out->mask));
  if (request->top < 0 || request->tile < 0)
    return error(FERRY_INVALID_ARGUMENT, "request.top is %d and request.tile %d: must be 0 or more", request->top,
                 request->tile);
  if (request->points == nullptr && request->point_count > 0)
    return error(FERRY_INVALID_ARGUMENT, "request.points is NULL but request.point_count is %zu", request->point_count);
  out->top = request->top;
  out->tile = request->tile;
  out->progress = {request->progress, request->user};
  out->points = {request->points, request->point_count};
  out->box = request->box;
  out->mask_index = request->mask_index;
  out->refine = request->refine;
  return {};
}

// The size of ferry_answer in its first version.
constexpr size_t kFirstAnswer = offsetof(ferry_answer, image) + sizeof(ferry_image);

ferry_answer describe(ferry_answer_kind kind, const task::Answer& answer) {
  ferry_answer out{};
  out.kind = kind;
  out.classes = answer.classes.data();
  out.class_count = answer.classes.size();
  if (kind == FERRY_ANSWER_VECTOR) {
    out.vector = answer.values.data();
    out.vector_size = answer.values.size();
  }
  if (kind == FERRY_ANSWER_MAP) out.map = answer.values.data();
  out.width = answer.width;
  out.height = answer.height;
  out.minimum = answer.minimum;
  out.maximum = answer.maximum;
  out.sense = answer.sense;
  out.quality = answer.quality;
  out.boxes = answer.detections.data();
  out.box_count = answer.detections.size();
  if (!answer.landmark_scores.empty()) out.landmark_scores = answer.landmark_scores.data();
  if (!answer.landmark_names.empty()) out.landmark_names = answer.landmark_names.data();
  out.landmark_name_count = answer.landmark_names.size();
  out.landmark_lines = answer.landmark_lines.data();
  out.landmark_line_count = answer.landmark_lines.size() / 2;
  out.lines = answer.lines.data();
  out.line_count = answer.lines.size();
  if (kind == FERRY_ANSWER_LABELS) out.labels = answer.labels.data();
  const ferry::image::View pixels = answer.pixels.view();
  if (kind == FERRY_ANSWER_MASK) {
    out.mask = pixels.data;
    out.width = pixels.width;
    out.height = pixels.height;
  }
  if (kind == FERRY_ANSWER_IMAGE) {
    out.image = {const_cast<uint8_t*>(pixels.data), pixels.width, pixels.height, static_cast<int32_t>(pixels.stride),
                 false};
  }
  return out;
}

Status run(ferry_task& handle, const ferry_request& given, ferry_answer* out) {
  const ferry_answer empty{};
  FERRY_TRY(ferry::fill_versioned(empty, kFirstAnswer, "ferry_answer", out));
  const task::Entry& entry = task::entry(task::task_of(handle.networks->graph()));
  ferry_request request;
  task::TaskRequest wanted;
  FERRY_TRY(read(given, entry, &request, &wanted));
  handle.answer = {};
  const ferry::Session::Runs runs(handle.session->idle());
  std::optional<ferry::Session::Runs> second;
  if (handle.second != nullptr) second.emplace(handle.second->idle());
  FERRY_TRY(entry.run(*handle.networks, wanted, &handle.answer));
  return ferry::fill_versioned(describe(entry.answer, handle.answer), kFirstAnswer, "ferry_answer", out);
}

}  // namespace

ferry_status ferry_model_task(const ferry_model* model, ferry_task_info* info) {
  FERRY_REQUIRE(info);
  FERRY_REQUIRE(model);
  const fbs::Task kind = task::task_of(model->model->graph());
  const task::Entry& entry = task::entry(kind);
  const ferry_task_info value = {0, static_cast<ferry_task_kind>(kind), entry.answer, entry.prompts, entry.name};
  return ferry::report(
      ferry::fill_versioned(value, offsetof(ferry_task_info, name) + sizeof(const char*), "ferry_task_info", info));
}

ferry_status ferry_task_open(ferry_model* model, const ferry_session_options* options, ferry_task** out) {
  FERRY_REQUIRE(out);
  *out = nullptr;
  FERRY_REQUIRE(model);
  return guarded([&]() -> Status {
    auto made = std::make_unique<ferry_task>();
    FERRY_TRY(open(*model, options, made.get()));
    *out = made.release();
    return {};
  });
}

void ferry_task_close(ferry_task* task) { ferry::close(task, __func__); }

ferry_status ferry_task_run(ferry_task* task, const ferry_request* request, ferry_answer* answer) {
  FERRY_REQUIRE(answer);
  FERRY_REQUIRE(task);
  FERRY_REQUIRE(request);
  return guarded([&] { return run(*task, *request, answer); });
}

void ferry_task_cancel(ferry_task* task) {
  if (task == nullptr) return;
  task->session->session->cancel();
  if (task->second != nullptr) task->second->session->cancel();
}

ferry_session* ferry_task_session(ferry_task* task) { return task != nullptr ? task->session.get() : nullptr; }

ferry_status ferry_answer_save(const ferry_answer* answer, const char* path, ferry_save_style style) {
  FERRY_REQUIRE(answer);
  FERRY_REQUIRE(path);
  return guarded([&] { return task::save(*answer, path, style); });
}

ferry_status ferry_answer_save_foreground(const ferry_answer* answer, const ferry_image* image, const char* path) {
  FERRY_REQUIRE(answer);
  FERRY_REQUIRE(image);
  FERRY_REQUIRE(path);
  return guarded([&]() -> Status {
    ferry::image::View view;
    FERRY_TRY(ferry::view_of(*image, &view));
    return task::save_foreground(*answer, view, path);
  });
}

ferry_status ferry_answer_composite(const ferry_answer* answer, const ferry_image* image, const ferry_image* background,
                                    ferry_image* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(answer);
  FERRY_REQUIRE(image);
  FERRY_REQUIRE(background);
  return guarded([&]() -> Status {
    ferry::image::View view, behind;
    FERRY_TRY(ferry::view_of(*image, &view));
    FERRY_TRY(ferry::view_of(*background, &behind));
    ferry::image::Pixels pixels;
    FERRY_TRY(task::composite(*answer, view, behind, &pixels));
    ferry::give(static_cast<ferry::image::Pixels&&>(pixels), out);
    return {};
  });
}

ferry_status ferry_answer_draw(const ferry_answer* answer, const ferry_image* image, ferry_image* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(answer);
  FERRY_REQUIRE(image);
  return guarded([&]() -> Status {
    ferry::image::View view;
    FERRY_TRY(ferry::view_of(*image, &view));
    ferry_answer known;
    FERRY_TRY(ferry::read_versioned(*answer, kFirstAnswer, "ferry_answer", &known));
    ferry::image::Pixels pixels;
    FERRY_TRY(task::draw(known, view, &pixels));
    ferry::give(static_cast<ferry::image::Pixels&&>(pixels), out);
    return {};
  });
}

size_t ferry_printable(const char* text, bool lines, char* out, size_t size) {
  if (text == nullptr) text = "";
  const ferry::Printed as = lines ? ferry::Printed::Text : ferry::Printed::Line;
  if (size > 0) out[ferry::make_printable(text, as, out, size - 1)] = '\0';
  return ferry::make_printable(text, as, nullptr, SIZE_MAX);
}

uint32_t ferry_label_colour(int32_t index) { return task::label_colour(index); }
