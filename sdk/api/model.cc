#include "sdk/api/handles.h"
#include "sdk/model/weight_check.h"

namespace {

using ferry::guarded;
using ferry::report;
using ferry::Status;
using Ports = flatbuffers::Vector<flatbuffers::Offset<ferry::fbs::Port>>;

size_t count(const Ports* ports) { return ports != nullptr ? ports->size() : 0; }

// Passes the result of open(&model) to the caller.
template <typename Open>
ferry_status wrap(ferry_model** out, const Open& open) {
  return guarded([&]() -> Status {
    std::shared_ptr<ferry::Model> model;
    FERRY_TRY(open(&model));
    *out = new ferry_model(std::move(model));
    return {};
  });
}

ferry_status describe_port(const ferry_model* model, const Ports* ports, const char* kind, size_t index,
                           ferry_tensor* out) {
  const size_t ports_seen = ports == model->model->graph().outputs() ? model->model->output_count() : count(ports);
  if (index >= ports_seen)
    return report(
        ferry::error(FERRY_INVALID_ARGUMENT, "%s %zu does not exist: the model has %zu", kind, index, ports_seen));
  const ferry::fbs::Port& port = *ports->Get(static_cast<unsigned>(index));
  const ferry::Model& m = *model->model;
  *out = ferry::describe(m, port, m.shape(port.tensor()), nullptr);
  return FERRY_OK;
}

}  // namespace

ferry_status ferry_model_open(const char* path, ferry_model** model) {
  FERRY_REQUIRE(model);
  *model = nullptr;
  FERRY_REQUIRE(path);
  return wrap(model, [&](std::shared_ptr<ferry::Model>* opened) { return ferry::Model::open(path, opened); });
}

ferry_status ferry_model_open_fd(int fd, uint64_t offset, uint64_t length, ferry_model** model) {
  FERRY_REQUIRE(model);
  *model = nullptr;
  if (fd < 0) return report(ferry::error(FERRY_INVALID_ARGUMENT, "%s: fd is %d", __func__, fd));
  return wrap(model,
              [&](std::shared_ptr<ferry::Model>* opened) { return ferry::Model::open_fd(fd, offset, length, opened); });
}

ferry_status ferry_model_open_memory(const void* data, size_t size, ferry_model** model) {
  FERRY_REQUIRE(model);
  *model = nullptr;
  FERRY_REQUIRE(data);
  return wrap(model,
              [&](std::shared_ptr<ferry::Model>* opened) { return ferry::Model::open_memory(data, size, opened); });
}

ferry_status ferry_model_check(const ferry_model* model) {
  FERRY_REQUIRE(model);
  return guarded([&] { return model->model->check_weights(); });
}

ferry_status ferry_model_finish_check(const ferry_model* model) {
  FERRY_REQUIRE(model);
  return guarded([&] { return model->model->weight_check().wait(); });
}

void ferry_model_close(ferry_model* model) { ferry::close(model, __func__); }

size_t ferry_model_graph_count(const ferry_model* model) { return model != nullptr ? model->model->graph_count() : 0; }

const char* ferry_model_graph_name(const ferry_model* model, size_t index) {
  return index < ferry_model_graph_count(model) ? model->model->graph_name(index) : nullptr;
}

ferry_status ferry_model_open_graph(const ferry_model* model, const char* name, ferry_model** graph) {
  FERRY_REQUIRE(graph);
  *graph = nullptr;
  FERRY_REQUIRE(model);
  FERRY_REQUIRE(name);
  return guarded([&]() -> Status {
    size_t index = 0;
    std::shared_ptr<const ferry::Model> opened;
    FERRY_TRY(model->model->find_graph(name, &index));
    FERRY_TRY(model->model->open_graph(index, &opened));
    *graph = new ferry_model(std::move(opened));
    return {};
  });
}

const char* ferry_model_name(const ferry_model* model) {
  if (model == nullptr) return "";
  const flatbuffers::String* name = model->model->graph().name();
  return name != nullptr ? name->c_str() : "";
}

size_t ferry_model_input_count(const ferry_model* model) {
  return model != nullptr ? count(model->model->graph().inputs()) : 0;
}

size_t ferry_model_output_count(const ferry_model* model) {
  return model != nullptr ? model->model->output_count() : 0;
}

size_t ferry_model_tap_count(const ferry_model* model) {
  return model != nullptr ? count(model->model->graph().taps()) : 0;
}

ferry_status ferry_model_input(const ferry_model* model, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(model);
  return describe_port(model, model->model->graph().inputs(), "input", index, out);
}

ferry_status ferry_model_input_bound(const ferry_model* model, size_t index, ferry_tensor* out) {
  const ferry_status status = ferry_model_input(model, index, out);
  if (status != FERRY_OK) return status;
  const auto* bound = model->model->graph().inputs()->Get(static_cast<unsigned>(index))->bound();
  if (bound != nullptr && bound->size() == static_cast<unsigned>(out->rank))
    std::copy(bound->begin(), bound->end(), out->shape);
  return FERRY_OK;
}

const void* ferry_model_text(const ferry_model* model, size_t* bytes) {
  const auto* text = model != nullptr ? model->model->root().text() : nullptr;
  if (bytes != nullptr) *bytes = text != nullptr ? text->size() : 0;
  return text != nullptr ? text->data() : nullptr;
}

ferry_status ferry_model_output(const ferry_model* model, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(model);
  return describe_port(model, model->model->graph().outputs(), "output", index, out);
}

ferry_status ferry_model_tap(const ferry_model* model, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(model);
  return describe_port(model, model->model->graph().taps(), "tap", index, out);
}

size_t ferry_model_label_count(const ferry_model* model) {
  if (model == nullptr) return 0;
  const auto* labels = model->model->graph().labels();
  return labels != nullptr ? labels->size() : 0;
}

const char* ferry_model_label(const ferry_model* model, size_t index) {
  if (index >= ferry_model_label_count(model)) return nullptr;
  return model->model->graph().labels()->Get(static_cast<unsigned>(index))->c_str();
}
