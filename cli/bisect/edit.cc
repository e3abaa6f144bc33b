#include "cli/bisect/edit.h"

#include <algorithm>
#include <limits>

namespace ferry::bisect {

Edit::Edit(Piece& piece, size_t at) : piece_(piece), at_(at) {
  const auto pass = [this](TensorId tensor) { next_ = std::max(next_, size_t{index_of(tensor)} + 1); };
  for (const auto& [tensor, value] : piece.known) pass(tensor);
  for (const fbs::OperatorT& op : piece.operators) {
    std::for_each(op.inputs.begin(), op.inputs.end(), pass);
    std::for_each(op.outputs.begin(), op.outputs.end(), pass);
  }
}

TensorId Edit::add_constant(const std::string& name, Array value) {
  const TensorId tensor = fresh();
  piece_.known[tensor] = std::move(value);
  piece_.constants[tensor] = name;
  return tensor;
}

TensorId Edit::insert(fbs::OperatorT op) {
  op.outputs = {fresh()};
  piece_.operators.insert(piece_.operators.begin() + static_cast<std::ptrdiff_t>(at_++), op);
  return op.outputs.front();
}

TensorId Edit::detach(TensorId tensor) {
  const TensorId former = fresh();
  if (auto known = piece_.known.extract(tensor)) {
    known.key() = former;
    piece_.known.insert(std::move(known));
  }
  for (fbs::OperatorT& op : piece_.operators) std::replace(op.outputs.begin(), op.outputs.end(), tensor, former);
  return former;
}

void Edit::attach(TensorId tensor) { piece_.operators[at_ - 1].outputs.front() = tensor; }

void reread(fbs::OperatorT& op, TensorId old, TensorId now) {
  std::replace(op.inputs.begin(), op.inputs.end(), old, now);
}

void bypass(fbs::OperatorT& op, size_t input) {
  fbs::UnaryT params;  // an identity
  params.alpha = -std::numeric_limits<float>::infinity();
  params.beta = std::numeric_limits<float>::infinity();
  op.params.Set(std::move(params));
  op.inputs = {op.inputs[input]};
}

}  // namespace ferry::bisect
