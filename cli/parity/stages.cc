#include "cli/parity/stages.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "cli/parity/network.h"
#include "cli/parity/prompts.h"
#include "cli/sdk.h"
#include "converter/pack/pack.h"
#include "converter/quantize/keys_and_values.h"
#include "sdk/model/elements.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/model/verify_states.h"
#include "sdk/operators/shape_rules.h"

namespace ferry::parity {
namespace {

// Cuts a network out of another: the operators between some of its tensors.
class Slicer {
 public:
  Slicer(std::shared_ptr<const Model> model, const Fixture& fixture, const ComputedTensors& computed,
         const ferry_session_options& session)
      : computed_(computed), options_(cli::same_threads(session)), model_(std::move(model)) {
    const fbs::Graph& graph = model_->graph();
    if (const Status status = verify_states(model_->root(), &states_); !status.ok())
      fail("%s", status.message().data());
    infer_shapes(fixture);
    writer_.assign(graph.tensors()->size(), -1);
    for (unsigned i = 0; i < graph.operators()->size(); ++i)
      for (TensorId tensor : *graph.operators()->Get(i)->outputs()) writer_[tensor] = static_cast<int>(i);
    for (const FixtureInput& input : fixture.inputs) inputs_[input.name] = &input;
    for (const fbs::Port* port : *graph.inputs()) ports_[port->tensor()] = port;
    for (const auto* list : {graph.outputs(), graph.taps()}) {
      if (list == nullptr) continue;
      for (const fbs::Port* port : *list) {
        if (!computed.contains(text(port->name()))) continue;
        ports_.emplace(port->tensor(), port);
        named_[text(port->name())] = port;
      }
    }
  }

  // True if the tensor is in this graph.
  bool holds(const std::string& name) const { return named_.contains(name); }

  // The float32 result of the operators that lead to that tensor. Empty if it is an input of the network, or depends
  // only on constants.
  std::vector<float> compute(const std::string& name) const {
    const fbs::Port& wanted = *named_.at(name);
    const TensorId target = wanted.tensor();
    std::set<int> operators;
    std::set<TensorId> sources;
    std::vector<TensorId> open{target};
    while (!open.empty()) {
      const TensorId tensor = open.back();
      open.pop_back();
      if (model_->is_constant(tensor)) continue;
      const int op = writer_[tensor];
      if (op < 0 || (tensor != target && ports_.contains(tensor))) {
        sources.insert(tensor);
      } else if (operators.insert(op).second) {
        for (TensorId input : *model_->graph().operators()->Get(static_cast<unsigned>(op))->inputs())
          open.push_back(input);
      }
    }
    if (sources.empty() || operators.empty()) return {};
    return run(write(operators, sources, wanted), sources);
  }

 private:
  void infer_shapes(const Fixture& fixture) {
    const fbs::Graph& graph = model_->graph();
    for (const TensorId t : model_->tensors()) shapes_.push_back(model_->shape(t));
    for (const fbs::Port* port : *graph.inputs())
      for (const FixtureInput& input : fixture.inputs) {
        if (graph.inputs()->size() > 1 && input.name != text(port->name())) continue;
        Dims dims = input.shape;
        if (port->source_layout() == fbs::Layout::NCHW && dims.size() == 4) dims = {dims[0], dims[2], dims[3], dims[1]};
        for (size_t d = 0; d < dims.size(); ++d)
          shapes_[port->tensor()][static_cast<int>(d)] = static_cast<int32_t>(dims[d]);
      }
    for (const fbs::Operator* op : *graph.operators()) {
      std::vector<Shape> inputs;
      for (TensorId tensor : *op->inputs()) inputs.push_back(shapes_[tensor]);
      std::vector<Shape> outputs(op->outputs()->size());
      const Status status = ferry::infer_shapes(*op, inputs, {states_.list.get(), states_.count}, outputs);
      if (!status.ok()) fail("operator '%s': %s", text(op->name()), status.message().data());
      for (unsigned i = 0; i < outputs.size(); ++i) shapes_[op->outputs()->Get(i)] = outputs[i];
    }
  }

  // A blob of these operators, with only the constants that they read.
  std::vector<std::byte> write(const std::set<int>& operators, const std::set<TensorId>& sources,
                               const fbs::Port& wanted) const {
    const fbs::Graph& graph = model_->graph();
    fbs::GraphT cut;
    cut.name = "stage";
    cut.buffers.push_back(std::make_unique<fbs::BufferT>());
    std::vector<std::byte> data;
    std::map<TensorId, TensorId> renamed;
    const auto tensor_of = [&](TensorId tensor) {
      const auto [at, is_new] = renamed.emplace(tensor, tensor_at(cut.tensors.size()));
      if (!is_new) return at->second;
      std::unique_ptr<fbs::TensorT> copy(model_->tensor(tensor).UnPack());
      const Shape& shape = shapes_[tensor];
      copy->shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
      if (model_->is_constant(tensor)) {
        std::span<const std::byte> bytes = model_->constant(tensor);
        std::vector<float> numbers;
        if (copy->quantization != nullptr) {  // the CPU would quantize activation rows that the GPU reads unquantized
          numbers.resize(static_cast<size_t>(shape.elements()));
          read_elements(model_->stored(tensor), numbers.data());
          bytes = std::as_bytes(std::span(numbers));
          copy->quantization = nullptr;
          copy->dtype = fbs::DType::Float32;
        }
        copy->buffer = add_segment(bytes, &cut, &data);
      }
      cut.tensors.push_back(std::move(copy));
      return at->second;
    };
    const auto port_of = [&](const fbs::Port& of) {
      std::unique_ptr<fbs::PortT> port(of.UnPack());
      port->tensor = tensor_of(of.tensor());
      port->bound.clear();  // the other inputs are not bound any more
      return port;
    };
    if (const auto* states = model_->root().states())
      for (const fbs::State* state : *states) cut.states.emplace_back(state->UnPack());
    show_keys_and_values(&cut);
    for (const TensorId source : sources) cut.inputs.push_back(port_of(*ports_.at(source)));
    for (int index : operators) {
      std::unique_ptr<fbs::OperatorT> op(graph.operators()->Get(static_cast<unsigned>(index))->UnPack());
      for (TensorId& tensor : op->inputs) tensor = tensor_of(tensor);
      for (TensorId& tensor : op->outputs) tensor = tensor_of(tensor);
      cut.operators.push_back(std::move(op));
    }
    cut.outputs.push_back(port_of(wanted));

    return assemble(cut, data);
  }

  std::vector<float> run(const std::vector<std::byte>& bytes, const std::set<TensorId>& sources) const {
    const cli::AlignedBytes blob = cli::aligned_copy(bytes);
    ferry_model* opened = nullptr;
    cli::check(ferry_model_open_memory(blob.get(), bytes.size(), &opened));
    const cli::ModelHandle model(opened);
    const cli::SessionHandle session = cli::create_session(model, options_);
    size_t index = 0;
    ferry_tensor tensor;
    for (const TensorId source : sources) {
      cli::check(ferry_session_input(session.get(), index++, &tensor));
      const std::string name = text(ports_.at(source)->name());
      const auto computed = computed_.find(name);
      const std::vector<float> values = computed != computed_.end() ? computed->second.read() : input_values(name);
      if (tensor.dtype == FERRY_INT32) {
        const std::vector<int32_t> ids(values.begin(), values.end());
        cli::check(ferry_tensor_write_source_int32(&tensor, ids.data(), ids.size()));
      } else {
        cli::check(ferry_tensor_write_source(&tensor, values.data(), values.size()));
      }
    }
    cli::check(ferry_session_run(session.get()));
    cli::check(ferry_session_output(session.get(), 0, &tensor));
    std::vector<float> out(tensor.bytes / sizeof(float));
    cli::check(ferry_tensor_read_source(&tensor, out.data(), out.size()));
    return out;
  }

  const std::vector<float>& input_values(const std::string& name) const {
    const auto found = inputs_.find(name);
    return found != inputs_.end() ? found->second->values : inputs_.begin()->second->values;
  }

  const ComputedTensors& computed_;
  ferry_session_options options_;
  std::shared_ptr<const Model> model_;
  StateShapes states_;  // empty, as before the fixture's run
  Shapes shapes_;
  PerTensor<int> writer_;
  std::map<TensorId, const fbs::Port*> ports_;     // the network's inputs and the computed tensors, one port per tensor
  std::map<std::string, const fbs::Port*> named_;  // a tensor may have two names, in two layouts
  std::map<std::string, const FixtureInput*> inputs_;
};

}  // namespace

void judge_by_stage(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                    const ferry_session_options& session, Comparison* comparison) {
  const std::vector<GraphFixture> graphs = by_graph(open_blob(blob), fixture, computed);
  std::vector<Slicer> slicers;
  for (const GraphFixture& graph : graphs) slicers.emplace_back(graph.model, graph.fixture, computed, session);
  for (Row& row : comparison->rows) {
    if (!row.problem.empty()) continue;
    const std::string& name = computed.contains(row.name) ? row.name : row.module;
    const auto slicer = std::find_if(slicers.begin(), slicers.end(), [&](const Slicer& s) { return s.holds(name); });
    const std::vector<float> reference = slicer->compute(name), ours = computed.at(name).read();
    if (reference.empty()) continue;  // depends on no other stage: keeps its verdict
    double error = 0, square = 0;
    for (size_t i = 0; i < reference.size(); ++i) {
      const double r = static_cast<double>(reference[i]), difference = static_cast<double>(ours[i]) - r;
      error += difference * difference;
      square += r * r;
    }
    row.squared_error = error == 0 ? 0 : error / square;
    row.in_bounds = row.squared_error <= row.bound;
  }
}

}  // namespace ferry::parity
