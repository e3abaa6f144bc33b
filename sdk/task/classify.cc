#include "sdk/task/classify.h"

#include <algorithm>
#include <utility>

#include "sdk/image/classify.h"
#include "sdk/task/image.h"
#include "sdk/task/labels.h"

namespace ferry::task {

Status top_classes(const Session& session, size_t index, ferry_class* classes, size_t* count) {
  const size_t room = std::exchange(*count, 0);
  const fbs::Graph& graph = session.model().graph();
  const fbs::Task task = task_of(graph);
  if (entry(task).run != classify) {
    return error(FERRY_INVALID_ARGUMENT,
                 "this model is not a classifier: read its outputs with ferry_session_output()");
  }
  std::span<const float> logits;
  FERRY_TRY(answer_row(session, index, "logits", &logits));
  const auto kind = task == fbs::Task::MultiLabel ? image::Classes::Independent : image::Classes::Exclusive;
  image::top_classes(logits.data(), logits.size(), kind, classes, room);
  *count = std::min(room, logits.size());
  for (size_t i = 0; i < *count; ++i) classes[i].label = label_of(graph, classes[i].index);
  return {};
}

const char* label_of(const fbs::Graph& graph, int index) {
  const auto* labels = graph.labels();
  const auto i = static_cast<unsigned>(index);
  return labels && i < labels->size() ? labels->Get(i)->c_str() : "";
}

Status classify(Networks& networks, const TaskRequest& request, Answer* answer) {
  Session& session = networks.session;
  FERRY_TRY(set_image(session, request.frame, &networks.intake));
  FERRY_TRY(session.run());
  size_t count = static_cast<size_t>(request.top > 0 ? request.top : networks.graph().postprocess()->top());
  const Shape& shape = session.shape(networks.graph().outputs()->Get(0)->tensor());
  count = std::min(count, static_cast<size_t>(shape.elements()));
  answer->classes.resize(count);
  return top_classes(session, kOnly, answer->classes.data(), &count);
}

}  // namespace ferry::task
