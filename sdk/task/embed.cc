#include <algorithm>
#include <utility>

#include "sdk/image/classify.h"
#include "sdk/task/classify.h"
#include "sdk/task/image.h"

namespace ferry::task {

Status embedding(const Session& session, size_t index, float* values, size_t* count) {
  const size_t room = std::exchange(*count, 0);
  const fbs::Graph& graph = session.model().graph();
  if (task_of(graph) != fbs::Task::Embedding) {
    return error(FERRY_INVALID_ARGUMENT, "this model has no embedding: read its outputs with ferry_session_output()");
  }
  std::span<const float> row;
  FERRY_TRY(answer_row(session, index, "embedding", &row));
  *count = row.size();
  if (!values) return {};
  if (room < row.size()) {
    return error(FERRY_INVALID_ARGUMENT, "room for %zu elements, the embedding has %zu", room, row.size());
  }
  if (graph.postprocess()->unit_length()) {
    image::unit_length(row.data(), row.size(), values);
  } else {
    std::copy(row.begin(), row.end(), values);
  }
  return {};
}

Status embed(Networks& networks, const TaskRequest& request, Answer* answer) {
  FERRY_TRY(set_image(networks.session, request.frame, &networks.intake));
  FERRY_TRY(networks.session.run());
  size_t count = 0;
  FERRY_TRY(embedding(networks.session, kOnly, nullptr, &count));
  answer->values.resize(count);
  return embedding(networks.session, kOnly, answer->values.data(), &count);
}

}  // namespace ferry::task
