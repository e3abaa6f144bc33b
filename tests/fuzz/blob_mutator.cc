#include "tests/fuzz/blob_mutator.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "converter/graph/graph.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"
#include "tests/fuzz/text_mutator.h"

namespace ferry::fuzz {
namespace {

bool parses(std::span<const std::byte> blob, BlobHeader* header) {
  if (blob.size() < sizeof *header) return false;
  std::memcpy(header, blob.data(), sizeof *header);
  const uint64_t size = blob.size();
  if (header->graph_offset != sizeof *header || header->graph_bytes < 16 || header->graph_bytes > size ||
      header->data_offset > size || header->data_bytes > size - header->data_offset ||
      header->graph_offset + header->graph_bytes > header->data_offset)
    return false;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(blob.data()) + header->graph_offset,
                                 static_cast<size_t>(header->graph_bytes));
  return fbs::VerifyGraphBuffer(verifier);
}

void settle_operators(fbs::GraphT& graph) {
  for (auto& op : graph.operators) settle(*op);
  for (auto& inner : graph.graphs) settle_operators(*inner);
}

template <typename List>
auto& pick(List& list, Random& random) {
  return list[random.below(list.size())];
}

void mutate_operators(fbs::GraphT& graph, Random& random) {
  auto& operators = graph.operators;
  const size_t at = random.below(operators.size());
  fbs::OperatorT& op = *operators[at];
  const auto any = [&] { return TensorId(random.below(graph.tensors.size())); };
  switch (random.below(7)) {
    case 0:
      if (!op.inputs.empty()) pick(op.inputs, random) = any();
      break;
    case 1: op.inputs.push_back(any()); break;
    case 2:
      if (!op.inputs.empty()) op.inputs.pop_back();
      break;
    case 3: operators.erase(operators.begin() + static_cast<ptrdiff_t>(at)); break;
    case 4: std::swap(operators[at], pick(operators, random)); break;
    case 5: op.params = pick(operators, random)->params; break;
    default: {  // once more, with its own output
      if (op.outputs.empty() || index_of(op.outputs[0]) >= graph.tensors.size()) break;
      auto copy = std::make_unique<fbs::OperatorT>(op);
      graph.tensors.push_back(std::make_unique<fbs::TensorT>(*graph.tensors[index_of(op.outputs[0])]));
      copy->outputs = {TensorId(graph.tensors.size() - 1)};
      operators.insert(operators.begin() + static_cast<ptrdiff_t>(at), std::move(copy));
    }
  }
}

// Recomputes the graph's shapes from its inputs, as far as possible.
void follow_shapes(fbs::GraphT& graph) {
  std::vector<StateShape> states;
  for (const auto& state : graph.states) {
    if (state->shape.size() > FERRY_MAX_RANK) return;
    StateShape shape{.axis = state->axis, .dtype = state->dtype, .window = state->window};
    for (const int32_t d : state->shape) shape.bound[shape.bound.rank++] = d;
    if (shape.axis < -1 || shape.axis >= shape.bound.rank) return;
    states.push_back(shape);
  }
  for (auto& op : graph.operators) {
    if (op->params.value == nullptr || op->outputs.size() != 1) return;
    std::vector<Shape> inputs;
    for (const TensorId id : op->inputs) {
      if (index_of(id) >= graph.tensors.size()) return;
      Shape shape;
      int64_t elements = 1;
      for (const int32_t d : graph.tensors[index_of(id)]->shape) {
        if (shape.rank == FERRY_MAX_RANK || d < 1 || (elements *= d) > 1 << 22) return;
        shape[shape.rank++] = d;
      }
      inputs.push_back(shape);
    }
    Shape output;
    const SerializedOp serialized(*op);
    if (index_of(op->outputs[0]) >= graph.tensors.size() || !infer_shape(*serialized, inputs, &output, states).ok())
      return;
    graph.tensors[index_of(op->outputs[0])]->shape.assign(output.dims.begin(), output.dims.begin() + output.rank);
  }
}

std::vector<std::byte> put_together(const fbs::GraphT& graph, BlobHeader header, std::span<const std::byte> data) {
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishGraphBuffer(builder, fbs::CreateGraph(builder, &graph));
  header.graph_bytes = builder.GetSize();
  header.data_offset = (sizeof header + builder.GetSize() + kAlignment - 1) / kAlignment * kAlignment;
  std::vector<std::byte> blob(header.data_offset + data.size());
  std::memcpy(blob.data(), &header, sizeof header);
  std::memcpy(blob.data() + sizeof header, builder.GetBufferPointer(), builder.GetSize());
  if (!data.empty()) std::memcpy(blob.data() + header.data_offset, data.data(), data.size());
  return blob;
}

}  // namespace

void mutate_graph(fbs::GraphT& graph, Random& random) {
  if (!graph.graphs.empty() && random.below(3) == 0) return mutate_graph(*pick(graph.graphs, random), random);
  if (graph.operators.empty() || graph.tensors.empty()) return;
  switch (random.below(13)) {
    case 0:
    case 1:
    case 2: return mutate_operators(graph, random);
    case 3:
    case 4:
    case 5:
    case 6: return mutate_table<fbs::Operator>(*pick(graph.operators, random), random);
    case 7: return mutate_table<fbs::Tensor>(*pick(graph.tensors, random), random);
    case 8:
      if (!graph.inputs.empty())
        if (const auto input = index_of(pick(graph.inputs, random)->tensor); input < graph.tensors.size())
          for (int32_t& d : graph.tensors[input]->shape)
            if (random.below(2) == 0) d = static_cast<int32_t>(1 + random.below(17));
      return;
    case 9:
      if (graph.preprocess == nullptr) graph.preprocess = std::make_unique<fbs::PreprocessT>();
      return mutate_table<fbs::Preprocess>(*graph.preprocess, random);
    case 10:
      if (graph.postprocess == nullptr) graph.postprocess = std::make_unique<fbs::PostprocessT>();
      return mutate_table<fbs::Postprocess>(*graph.postprocess, random);
    case 11:
      if (!graph.text.empty()) mutate_text(&graph.text, random);
      return;
    default:
      if (!graph.states.empty() && random.below(2) == 0)
        return mutate_table<fbs::State>(*pick(graph.states, random), random);
      auto& ports = random.below(3) == 0 ? graph.taps : random.below(2) == 0 ? graph.inputs : graph.outputs;
      if (!ports.empty()) mutate_table<fbs::Port>(*pick(ports, random), random);
  }
}

size_t mutate_blob(uint8_t* data, size_t size, size_t maximum, unsigned seed, MutateGraph mutate) {
  BlobHeader header;
  const Aligned blob(std::as_bytes(std::span(data, size)));
  if (!parses(blob, &header)) return LLVMFuzzerMutate(data, size, maximum);
  Random random(seed);
  const auto graph_at = static_cast<size_t>(header.graph_offset), data_at = static_cast<size_t>(header.data_offset);
  switch (random.below(8)) {
    case 0:  // at the header's offset and length
      LLVMFuzzerMutate(data + graph_at, static_cast<size_t>(header.graph_bytes),
                       static_cast<size_t>(header.graph_bytes));
      return size;
    case 1:
      if (header.data_bytes > 0)
        LLVMFuzzerMutate(data + data_at, static_cast<size_t>(header.data_bytes),
                         static_cast<size_t>(header.data_bytes));
      return size;
    case 2: return LLVMFuzzerMutate(data, size, maximum);
    default: break;
  }
  fbs::GraphT graph;
  fbs::GetGraph(blob.data() + graph_at)->UnPackTo(&graph);
  settle_operators(graph);
  for (size_t n = 1 + random.below(3); n > 0; --n) mutate(graph, random);
  if (random.below(4) != 0) follow_shapes(graph);
  const std::vector<std::byte> changed = put_together(
      graph, header, std::span<const std::byte>(blob).subspan(data_at, static_cast<size_t>(header.data_bytes)));
  if (changed.size() > maximum) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace ferry::fuzz
