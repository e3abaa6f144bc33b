#include "cli/parity/network.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "sdk/api/handles.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"

namespace ferry::parity {

namespace {

void check(ferry_status status, const std::string& where) {
  if (status != FERRY_OK) fail("%s: %s", where.c_str(), ferry_last_error());
}

bool is_picture(const ferry_tensor& tensor) { return tensor.source_layout == FERRY_LAYOUT_NCHW && tensor.rank == 4; }

Dims source_shape(const ferry_tensor& tensor) {
  Dims shape(tensor.shape, tensor.shape + tensor.rank);
  if (is_picture(tensor)) return {shape[0], shape[3], shape[1], shape[2]};
  return shape;
}

std::vector<float> read(const ferry_tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(elements(source_shape(tensor))));
  if (tensor.dtype == FERRY_INT32) {
    std::vector<int32_t> integers(out.size());
    check(ferry_tensor_read_source_int32(&tensor, integers.data(), integers.size()), tensor.name);
    std::transform(integers.begin(), integers.end(), out.begin(), [](int32_t v) { return static_cast<float>(v); });
    return out;
  }
  check(ferry_tensor_read_source(&tensor, out.data(), out.size()), tensor.name);
  return out;
}

}  // namespace

std::shared_ptr<Model> open_blob(const std::filesystem::path& blob) {
  std::shared_ptr<Model> model;
  if (const Status status = Model::open(blob.c_str(), &model); !status.ok())
    fail("%s: %s", blob.c_str(), status.message().data());
  return model;
}

Network::Network(const std::filesystem::path& blob, const Fixture& fixture, ferry_session_options options) {
  ferry_model* model = nullptr;
  check(ferry_model_open(blob.c_str(), &model), blob.string());
  model_.reset(model);
  run(blob.string(), fixture, options);
}

Network::Network(std::span<const std::byte> blob, const Fixture& fixture, ferry_session_options options) {
  bytes_.reset(std::aligned_alloc(kAlignment, (blob.size() + kAlignment - 1) / kAlignment * kAlignment));
  std::memcpy(bytes_.get(), blob.data(), blob.size());
  ferry_model* model = nullptr;
  check(ferry_model_open_memory(bytes_.get(), blob.size(), &model), "the blob");
  model_.reset(model);
  run("the blob", fixture, options);
}

void Network::run(const std::string& blob, const Fixture& fixture, ferry_session_options options) {
  ferry_model* model = model_.get();
  list_ports(fixture);
  model_name_ = ferry_model_name(model);

  std::vector<const char*> names;
  for (const Port& tap : taps_) names.push_back(tap.name.c_str());
  options.taps = names.data();
  options.tap_count = names.size();
  ferry_session* session = nullptr;
  check(ferry_session_create(model, &options, &session), blob);
  session_.reset(session);

  const size_t count = ferry_model_input_count(model);
  if (count != fixture.inputs.size())
    fail("%s: the blob takes %zu inputs, fixture %s has %zu", blob.c_str(), count, fixture.name.c_str(),
         fixture.inputs.size());
  for (const FixtureInput& input : fixture.inputs) write_input(input, count);
  check(ferry_session_run(session), blob);
  cli::check_backend(session_);
}

// The C interface does not tell which taps are blocks nor which operator writes a tensor; the blob does.
void Network::list_ports(const Fixture& fixture) {
  const fbs::Graph& graph = model_->model->graph();
  PerTensor<int> writer(graph.tensors()->size(), -1);
  for (unsigned i = 0; i < graph.operators()->size(); ++i)
    for (const TensorId t : *graph.operators()->Get(i)->outputs()) writer[t] = static_cast<int>(i);

  std::set<std::string> wanted;
  for (const Entry& entry : fixture.entries) wanted.insert({entry.name, entry.module});
  const auto list = [&](const flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>* ports, bool all) {
    std::vector<Port> out;
    if (ports == nullptr) return out;
    for (const fbs::Port* port : *ports)
      if (all || wanted.contains(text(port->name())))
        out.push_back({text(port->name()), writer[port->tensor()], port->block()});
    return out;
  };
  outputs_ = list(graph.outputs(), true);
  taps_ = list(graph.taps(), false);
  if (const fbs::Provenance* p = graph.provenance(); p != nullptr)
    provenance_ = std::string(text(p->framework())) + " " + text(p->variant()) + ", " + text(p->converter());
}

void Network::write_input(const FixtureInput& input, size_t count) {
  const std::string place = "input " + in_quotes(input.name);
  ferry_tensor tensor;
  size_t index = 0;
  for (; index < count; ++index) {
    check(ferry_model_input(model_.get(), index, &tensor), place);
    if (count == 1 || tensor.name == input.name) break;  // one input fits whatever its name is
  }
  if (index == count) fail("%s of the fixture is not an input of the blob", place.c_str());
  if (source_shape(tensor) != input.shape) {
    Dims shape = input.shape;
    if (is_picture(tensor) && shape.size() == 4) shape = {shape[0], shape[2], shape[3], shape[1]};
    const std::vector<int32_t> dims(shape.begin(), shape.end());
    check(ferry_session_resize(session_.get(), index, dims.data(), static_cast<int32_t>(dims.size())),
          place + " of shape " + to_string(input.shape));
  }
  check(ferry_session_input(session_.get(), index, &tensor), place);
  if (tensor.dtype == FERRY_INT32) {
    const std::vector<int32_t> ids(input.values.begin(), input.values.end());
    return check(ferry_tensor_write_source_int32(&tensor, ids.data(), ids.size()), place);
  }
  check(ferry_tensor_write_source(&tensor, input.values.data(), input.values.size()), place);
}

bool Network::on_gpu(size_t op) const { return std::strcmp(session_->idle().computing().backend_of(op), "gpu") == 0; }

ComputedTensors Network::tensors() const {
  ComputedTensors out;
  for (const Port& tap : taps_) {
    ferry_tensor tensor;
    check(ferry_session_tap(session_.get(), tap.name.c_str(), &tensor), tap.name);
    out[tap.name] = {source_shape(tensor), tap.depth, tap.block, [tensor] { return read(tensor); }};
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ferry_tensor tensor;
    check(ferry_session_output(session_.get(), i, &tensor), outputs_[i].name);
    out[outputs_[i].name] = {source_shape(tensor), outputs_[i].depth, outputs_[i].block,
                             [tensor] { return read(tensor); }};
  }
  return out;
}

}  // namespace ferry::parity
