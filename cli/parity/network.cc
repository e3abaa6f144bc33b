#include "cli/parity/network.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "cli/parity/images.h"
#include "cli/parity/prompts.h"
#include "cli/sdk.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "sdk/api/handles.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry::parity {

namespace {

void check(ferry_status status, const std::string& where) {
  if (status != FERRY_OK) fail("%s: %s%s", where.c_str(), ferry_last_error(), cli::remedy_of(status));
}

bool is_image(const ferry_tensor& tensor) { return tensor.source_layout == FERRY_LAYOUT_NCHW && tensor.rank == 4; }

Dims source_shape(const ferry_tensor& tensor) {
  Dims shape(tensor.shape, tensor.shape + tensor.rank);
  if (is_image(tensor)) return {shape[0], shape[3], shape[1], shape[2]};
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

GraphRun::GraphRun(cli::ModelHandle model, const std::string& where, const Fixture& fixture,
                   ferry_session_options options, int first_depth)
    : model_(std::move(model)) {
  list_ports(fixture, first_depth);
  std::vector<const char*> names;
  for (const Port& tap : taps_) names.push_back(tap.name.c_str());
  options.taps = names.data();
  options.tap_count = names.size();
  options.skip_weight_check = true;  // values tell where a damaged weight is
  ferry_session* session = nullptr;
  check(ferry_session_create(model_.get(), &options, &session), where);
  session_.reset(session);

  const size_t count = ferry_model_input_count(model_.get());
  if (count != fixture.inputs.size())
    fail("%s: the blob has %zu inputs, fixture %s has %zu", where.c_str(), count, fixture.name.c_str(),
         fixture.inputs.size());
  write_inputs(fixture.inputs);
  check(ferry_session_run(session), where);
  cli::check_backend(session_);
}

const Model& GraphRun::model() const { return *model_->model; }

// The C API exposes neither which taps are blocks nor which operator writes a tensor; the blob's graph does.
void GraphRun::list_ports(const Fixture& fixture, int first_depth) {
  const fbs::Graph& graph = model().graph();
  PerTensor<int> writer(graph.tensors()->size(), first_depth - 1);
  for (unsigned i = 0; i < graph.operators()->size(); ++i)
    for (const TensorId t : *graph.operators()->Get(i)->outputs()) writer[t] = first_depth + static_cast<int>(i);

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
}

void GraphRun::write_inputs(const std::vector<FixtureInput>& inputs) {
  std::vector<ferry_tensor> ports(inputs.size());
  for (size_t i = 0; i < ports.size(); ++i)
    check(ferry_model_input(model_.get(), i, &ports[i]), "input " + std::to_string(i));
  std::vector<size_t> of;  // each input's port
  std::string reshaped;
  for (const FixtureInput& input : inputs) {
    const std::string place = "input " + in_quotes(input.name);
    size_t index = 0;  // a single input matches any name
    while (ports.size() > 1 && index < ports.size() && ports[index].name != input.name) ++index;
    if (index == ports.size()) fail("%s of the fixture is not an input of the blob", place.c_str());
    of.push_back(index);
    ferry_tensor& port = ports[index];
    if (source_shape(port) == input.shape) continue;
    Dims shape = input.shape;
    if (is_image(port) && shape.size() == 4) shape = {shape[0], shape[2], shape[3], shape[1]};
    reshaped += (reshaped.empty() ? "" : ", ") + place + " of shape " + to_string(input.shape);
    if (shape.size() > std::size(port.shape)) fail("%s: too many dimensions", reshaped.c_str());
    port.rank = static_cast<int32_t>(shape.size());
    std::transform(shape.begin(), shape.end(), port.shape, [](int64_t d) { return static_cast<int32_t>(d); });
  }
  if (!reshaped.empty()) check(ferry_session_resize_inputs(session_.get(), ports.data(), ports.size()), reshaped);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string place = "input " + in_quotes(inputs[i].name);
    const std::vector<float>& values = inputs[i].values;
    ferry_tensor tensor;
    check(ferry_session_input(session_.get(), of[i], &tensor), place);
    if (tensor.dtype == FERRY_INT32) {
      const std::vector<int32_t> ids(values.begin(), values.end());
      check(ferry_tensor_write_source_int32(&tensor, ids.data(), ids.size()), place);
    } else {
      check(ferry_tensor_write_source(&tensor, values.data(), values.size()), place);
    }
  }
}

void GraphRun::add_tensors(ComputedTensors* out) const {
  const auto add = [&](const Port& port, const ferry_tensor& tensor) {
    (*out)[port.name] = {source_shape(tensor), port.depth, port.block, [tensor] { return read(tensor); }};
  };
  ferry_tensor tensor;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    check(ferry_session_output(session_.get(), i, &tensor), outputs_[i].name);
    add(outputs_[i], tensor);
  }
  // A task may take a softmax off an output; its tap is still the framework's value of that name.
  for (const Port& tap : taps_) {
    check(ferry_session_tap(session_.get(), tap.name.c_str(), &tensor), tap.name);
    add(tap, tensor);
  }
}

Network::Network(const std::filesystem::path& blob, const Fixture& fixture, ferry_session_options options) {
  ferry_model* model = nullptr;
  check(ferry_model_open(blob.c_str(), &model), blob.string());
  run(cli::ModelHandle(model), blob.string(), fixture, options);
}

Network::Network(std::span<const std::byte> blob, const Fixture& fixture, ferry_session_options options) {
  bytes_ = cli::aligned_copy(blob);
  ferry_model* model = nullptr;
  check(ferry_model_open_memory(bytes_.get(), blob.size(), &model), "the blob");
  run(cli::ModelHandle(model), "the blob", fixture, options);
}

void Network::run(cli::ModelHandle model, const std::string& blob, const Fixture& fixture,
                  ferry_session_options options) {
  model_name_ = ferry_model_name(model.get());
  if (const fbs::Provenance* p = model->model->root().provenance(); p != nullptr)
    provenance_ = std::string(text(p->framework())) + " " + text(p->variant()) + ", " + text(p->converter());
  const fbs::Graph& root = model->model->root();
  const size_t prompted = prompted_graph(root);
  const auto open = [&](size_t index) {
    ferry_model* opened = nullptr;
    check(ferry_model_open_graph(model.get(), ferry_model_graph_name(model.get(), index), &opened), blob);
    return cli::ModelHandle(opened);
  };
  const auto add = [&](cli::ModelHandle graph, const Fixture& of, int first_depth) {
    const std::string name = text(graph->model->graph().name());
    const std::string where = &graph->model->graph() == &root ? blob : blob + ", graph '" + name + "'";
    graphs_.push_back(std::make_unique<GraphRun>(std::move(graph), where, of, options, first_depth));
  };
  const auto depth = [&] { return static_cast<int>(graphs_.back()->model().graph().operators()->size()); };
  if (prompted > 0) {
    cli::ModelHandle graph = open(prompted);
    add(std::move(model), without_prompts(fixture), 0);
    const Fixture of = with_prompts(graph->model->graph(), fixture, tensors());
    return add(std::move(graph), of, depth());
  }
  const fbs::Images* images = images_of(root);
  if (images == nullptr) return add(std::move(model), fixture, 0);
  std::vector<Computed> features;
  for (const Fixture& image : of_each_image(*images, fixture)) {
    add(open(vision_graph(root, *images)), image, 0);
    ++images_;
    ComputedTensors computed;
    graphs_.back()->add_tensors(&computed);
    features.push_back(computed.at("image_features"));
  }
  const Fixture of = with_images(*images, fixture, features);
  add(std::move(model), of, depth());
}

uint64_t Network::arena_bytes() const {
  uint64_t bytes = 0;
  for (const auto& graph : graphs_) bytes += ferry_session_arena_bytes(graph->session().get());
  return bytes;
}

ferry_report Network::report() const {
  ferry_report report = cli::report_of(graphs_.front()->session().get());
  for (auto graph = graphs_.begin() + 1; graph != graphs_.end(); ++graph)
    report.cpu_operators += cli::report_of((*graph)->session().get()).cpu_operators;
  return report;
}

bool Network::on_gpu(size_t op) const {
  auto graph = graphs_.begin() + (images_ > 0 ? static_cast<std::ptrdiff_t>(images_) - 1 : 0);
  for (; op >= (*graph)->model().graph().operators()->size(); ++graph)
    op -= (*graph)->model().graph().operators()->size();
  return std::strcmp((*graph)->session()->idle().computing().backend_of(op), "gpu") == 0;
}

std::set<std::string> Network::kinds_on_cpu() const {
  std::set<std::string> kinds;
  for (const auto& run : graphs_) {
    const auto& operators = *run->model().graph().operators();
    const Backend& backend = run->session()->idle().computing();
    for (unsigned i = 0; i < operators.size(); ++i) {
      const auto is_integer = [&](TensorId t) { return run->model().tensor(t).dtype() == fbs::DType::Int32; };
      const auto& inputs = *operators[i]->inputs();
      if (std::strcmp(backend.backend_of(i), "cpu") == 0 && std::none_of(inputs.begin(), inputs.end(), is_integer))
        kinds.insert(op_name(operators[i]->params_type()));
    }
  }
  return kinds;
}

ComputedTensors Network::tensors() const {
  ComputedTensors out;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    ComputedTensors of;
    graphs_[i]->add_tensors(&of);
    for (const auto& [name, computed] : of) {
      const auto [at, is_new] = out.emplace(name, computed);
      if (!is_new) at->second = i < images_ ? joined(at->second, computed) : computed;
    }
  }
  return out;
}

}  // namespace ferry::parity
