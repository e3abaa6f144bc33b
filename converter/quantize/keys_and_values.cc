#include "converter/quantize/keys_and_values.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {
namespace {

// Channels of the heads that `op` reads from a state of this width, as input `place`; 0 if it is no such attention.
int head_size(const fbs::OperatorT& op, size_t place, int32_t width) {
  const auto* attention = op.params.AsAttention();
  const bool reads = attention != nullptr && attention->causal && (place == 1 || place == 2);
  return reads ? width / attention->kv_heads : 0;
}

// The largest block that divides every head of the state; 0 if another operator or a port reads it.
int block_of(const fbs::GraphT& root, uint32_t state, int32_t width) {
  int block = width;
  for (const fbs::GraphT* graph : tables_of(root)) {
    std::vector<TensorId> held;
    for (const auto& op : graph->operators)
      if (const auto* append = op->params.AsAppend(); append != nullptr && append->state == state)
        held.push_back(op->outputs.front());
    const auto holds = [&](TensorId t) { return std::find(held.begin(), held.end(), t) != held.end(); };
    for (const auto& op : graph->operators)
      for (size_t place = 0; place < op->inputs.size(); ++place)
        if (holds(op->inputs[place])) {
          const int size = head_size(*op, place, width);
          if (size == 0) return 0;
          block = std::gcd(block, size);
        }
    for (const auto* ports : {&graph->outputs, &graph->taps})
      for (const auto& port : *ports)
        if (holds(port->tensor)) return 0;
  }
  return block;
}

}  // namespace

void store_keys_and_values_as(fbs::DType dtype, fbs::GraphT* root) {
  for (uint32_t i = 0; i < root->states.size(); ++i) {
    fbs::StateT& state = *root->states[i];
    if (state.shape.size() != 3 || state.axis != 1 || state.dtype != fbs::DType::Float32) continue;
    state.block = block_of(*root, i, state.shape[2]);
    if (state.block > 0) state.dtype = dtype;
  }
}

}  // namespace ferry
