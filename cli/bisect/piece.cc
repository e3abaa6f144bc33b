#include "cli/bisect/piece.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "converter/error.h"
#include "converter/graph/graph.h"
#include "converter/reference/interpreter.h"
#include "sdk/operators/operators.h"

namespace ferry::bisect {

PerTensor<int> Source::producers() const {
  PerTensor<int> out(model->tensors.size(), -1);
  for (size_t i = 0; i < model->operators.size(); ++i)
    for (TensorId output : model->operators[i]->outputs) out[output] = static_cast<int>(i);
  return out;
}

namespace {

// Computes an operator that reads only constants. Returns false for others, and for the target. A graph without passes
// derives weights from a checkpoint's tensors this way, and causes need their values.
bool fold(const fbs::OperatorT& op, Piece* piece) {
  const auto is_constant = [piece](TensorId tensor) { return piece->is_constant(tensor); };
  const auto type = op.params.type;
  if (!std::all_of(op.inputs.begin(), op.inputs.end(), is_constant) || names_state(type) || bounds_loop(type) ||
      std::count(op.outputs.begin(), op.outputs.end(), piece->target) > 0)
    return false;
  std::vector<const Array*> inputs;
  for (TensorId input : op.inputs) inputs.push_back(&piece->known.at(input));
  std::vector<Array> outputs =
      reference::compute_all(*SerializedOp(op), inputs, piece->states, piece->type_of_result(op));
  for (size_t i = 0; i < outputs.size(); ++i) {
    piece->known[op.outputs[i]] = std::move(outputs[i]);
    piece->constants[op.outputs[i]] = piece->constants.at(op.inputs.front());
  }
  return true;
}

// Multiply-accumulates of products, and elements read and written of everything else.
uint64_t work_of(const fbs::Operator& op, const std::vector<const Array*>& inputs, const std::vector<Array>& outputs) {
  const auto elements = [](const Array& array) { return array.shape.elements(); };
  int64_t moved = 0;
  for (const Array* input : inputs) moved += elements(*input);
  for (const Array& output : outputs) moved += elements(output);
  int64_t products = 0;
  const int64_t made = elements(outputs.front());
  if (const fbs::MatMul* p = op.params_as_MatMul()) {
    const Shape& a = inputs[0]->shape;
    products = made * a[a.rank - (p->transpose_a() ? 2 : 1)];
  } else if (op.params_as_Attention() != nullptr) {
    const Shape& keys = inputs[1]->shape;
    products = 2 * made * keys[keys.rank - 2];
  } else if (op.params_as_Experts() != nullptr) {
    const Shape &gate_up = inputs[3]->shape, &down = inputs[4]->shape;
    products = elements(*inputs[1]) * (gate_up.elements() / gate_up[0] + down.elements() / down[0]);
  } else if (const fbs::ConvTranspose2d* transposed = op.params_as_ConvTranspose2d()) {
    const Shape& weight = inputs[1]->shape;
    products = elements(*inputs[0]) * (weight.elements() / weight[3] / transposed->groups());
  } else if (has_weight(op.params_type())) {
    const Shape& weight = inputs[1]->shape;
    products = made * (weight.elements() / weight[0]);
  }
  return static_cast<uint64_t>(std::max(products, moved));
}

}  // namespace

Piece cut(const Source& source, TensorId target, const Values& given) {
  const PerTensor<int> producers = source.producers();
  Piece piece;
  piece.states = source.states;
  piece.target = target;
  std::set<int> operators;
  std::vector<TensorId> open{target};
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    const auto value = given.find(tensor);
    const int op = producers[tensor];
    if (const fbs::TensorT& t = *source.model->tensors[index_of(tensor)]; t.buffer != 0) {
      if (piece.constants.emplace(tensor, t.name).second) piece.known[tensor] = source.constant(tensor);
    } else if (value != given.end() && (tensor != target || op < 0)) {
      piece.known.insert(*value);
    } else if (op < 0) {
      fail("tensor '%s' is an input whose value is not known", source.model->tensors[index_of(tensor)]->name.c_str());
    } else if (operators.insert(op).second) {
      for (TensorId input : source.model->operators[static_cast<size_t>(op)]->inputs) open.push_back(input);
    }
  }
  for (int place : operators) {
    const fbs::OperatorT& op = *source.model->operators[static_cast<size_t>(place)];
    const fbs::TensorT& result = *source.model->tensors[index_of(op.outputs.front())];
    if (result.dtype == fbs::DType::Int8) piece.integers[op.outputs.front()] = type_of(result);
    if (fold(op, &piece)) continue;
    piece.operators.push_back(op);
  }
  return piece;
}

Values compute(const Piece& piece, const Values* former, size_t from, uint64_t* work) {
  Values out;
  const auto op_at = [&](size_t i) -> const fbs::OperatorT& { return piece.operators[i]; };
  const auto is_end = [](const fbs::OperatorT& op) { return op.params.type == fbs::OpParams::LoopEnd; };
  if (std::any_of(piece.operators.begin(), piece.operators.end(), is_end)) from = 0;  // every step is computed again
  for (size_t i = 0; i < piece.operators.size(); ++i) {
    const fbs::OperatorT& op = piece.operators[i];
    if (former != nullptr && i < from) {
      for (TensorId output : op.outputs) out[output] = former->at(output);
      continue;
    }
    std::vector<const Array*> inputs;
    for (TensorId input : op.inputs) {
      const auto computed = out.find(input);
      inputs.push_back(computed != out.end() ? &computed->second : &piece.known.at(input));
    }
    const SerializedOp serialized(op);
    const std::vector<Array> outputs =
        reference::compute_all(*serialized, inputs, piece.states, piece.type_of_result(op));
    if (work != nullptr) *work += work_of(*serialized, inputs, outputs);
    if (is_end(op))
      i = reference::end_step(i, op_at, inputs, outputs, &out);
    else
      for (size_t k = 0; k < outputs.size(); ++k) out[op.outputs[k]] = outputs[k];
  }
  return out;
}

Difference difference(const Array& ours, const Array& right) {
  Difference out;
  if (ours.shape != right.shape) {
    out.relative = std::numeric_limits<double>::infinity();
    return out;
  }
  double absmax = 0, largest = 0;
  for (size_t i = 0; i < right.values.size(); ++i) {
    absmax = std::max(absmax, std::fabs(right.values[i]));
    double error = std::fabs(ours.values[i] - right.values[i]);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error > largest) largest = error, out.at = i;
  }
  out.relative = largest == 0 ? 0 : largest / absmax;
  return out;
}

}  // namespace ferry::bisect
