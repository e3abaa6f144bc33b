// How a session's shapes follow its inputs and states.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sdk/graph/session.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"

namespace ferry {
namespace {

// Infers the shapes of all operators' outputs from those of graph inputs and constants.
template <typename Rule>
Status infer(const Model& model, const Rule& rule, std::span<const StateShape> states, std::vector<Shape>* operands,
             Shapes* shapes) {
  for (const fbs::Operator* op : *model.graph().operators()) {
    operands->clear();
    for (TensorId tensor : *op->inputs()) operands->push_back((*shapes)[tensor]);
    Shape outputs[kMaxOutputs];
    const unsigned count = op->outputs()->size();
    if (Status status = rule(*op, *operands, states, std::span(outputs, count)); !status.ok())
      return at_operator(status, *op);
    for (unsigned i = 0; i < count; ++i) (*shapes)[op->outputs()->Get(i)] = outputs[i];
  }
  return {};
}

constexpr Status::Failure kNoShape = {FERRY_SHAPE_MISMATCH, ""};  // resize() writes the message

// Whether an input of that rank may have this shape.
bool may_have(const Shape& shape, int rank) {
  int64_t elements = 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] < 1 || elements > kMaxElements / shape[d]) return false;
    elements *= shape[d];
  }
  return shape.rank == rank;
}

// Moves the first exact[d] elements of each dimension d of a tensor of shape `padded` to its beginning. Every element
// moves towards the beginning, and in order, so that none is overwritten before it is read.
// Elements have four bytes, as in all outputs.
void compact(const Shape& padded, const Shape& exact, char* data) {
  constexpr size_t element = sizeof(int32_t);
  if (exact.elements() == 0) return;
  int inner = padded.rank;  // the first dimension of those that are contiguous in both
  size_t block = element;
  while (inner > 0 && exact[inner - 1] == padded[inner - 1]) block *= static_cast<size_t>(padded[--inner]);
  if (inner > 0) block *= static_cast<size_t>(exact[--inner]);
  std::array<int32_t, FERRY_MAX_RANK> at{};
  for (char* to = data;; to += block) {
    size_t from = 0;
    for (int d = 0; d < padded.rank; ++d)
      from = from * static_cast<size_t>(padded[d]) + static_cast<size_t>(at[static_cast<size_t>(d)]);
    std::memmove(to, data + from * element, block);
    int d = inner - 1;
    while (d >= 0 && ++at[static_cast<size_t>(d)] == exact[d]) at[static_cast<size_t>(d--)] = 0;
    if (d < 0) return;
  }
}

}  // namespace

Status Session::infer_bounds(std::span<const Shape> inputs, Shapes* out) {
  const auto& ports = *model_->graph().inputs();
  const bool bounded =
      std::any_of(ports.begin(), ports.end(), [](const fbs::Port* port) { return port->bound() != nullptr; });
  if (!bounded && inputs.empty() && states() == nullptr) return {};
  Shapes bounds = shapes_;
  for (unsigned i = 0; i < ports.size(); ++i) {
    Shape& shape = bounds[ports.Get(i)->tensor()];
    if (!inputs.empty()) shape = inputs[i];
    const auto* bound = ports.Get(i)->bound();
    for (int d = 0; inputs.empty() && bound != nullptr && d < shape.rank; ++d)
      shape[d] = bound->Get(static_cast<unsigned>(d));
  }
  std::vector<StateShape> empty = followed_;
  for (StateShape& state : empty) state.length = state.first = 0;
  FERRY_TRY(infer(*model_, infer_largest_shapes, empty, &operands_, &bounds));
  *out = std::move(bounds);
  return {};
}

Status Session::infer_next(std::span<const StateShape> states) {
  return infer(*model_, infer_shapes, states, &operands_, &next_);
}

Status Session::reserve_states(const Shapes& shapes) {
  if (!states_built_in() || states() == nullptr) return {};
  uint64_t bytes = 0;
  for (const fbs::Operator* op : *model_->graph().operators()) {
    if (!changes_state(op->params_type())) continue;
    const uint32_t state = state_of(*op);
    const StateShape& held = states()->shapes()[state];
    const int32_t rows = held.length_after(shapes[op->inputs()->Get(0)]) - held.first;
    bytes += states()->bytes_for(state, rows);
    FERRY_TRY(budget_->check(MemoryBudget::Part::States, bytes));
    FERRY_TRY(states()->reserve(state, rows));
  }
  budget_->set(MemoryBudget::Part::States, bytes);
  return {};
}

Status Session::adopt_next() {
  FERRY_TRY(reserve_states(next_));
  bool fits = false;
  if (fallback_ == nullptr && !bounds_.empty()) FERRY_TRY(backend_->reshape(next_, &fits));
  if (!fits) FERRY_TRY(prepare(next_, bounds_));
  std::swap(shapes_, next_);
  return {};
}

Status Session::follow_states() {
  if (!states_built_in() || states() == nullptr) return {};
  states()->drop_unseen();
  const std::span<const StateShape> held = states()->shapes();
  const auto same = [](const StateShape& a, const StateShape& b) { return a.length == b.length && a.first == b.first; };
  if (followed_moves_ == states()->moves() && std::equal(held.begin(), held.end(), followed_.begin(), same)) return {};
  next_ = shapes_;
  FERRY_TRY(infer_next(held));
  FERRY_TRY(adopt_next());
  std::copy(held.begin(), held.end(), followed_.begin());
  followed_moves_ = states()->moves();
  return {};
}

void Session::advance_states() {
  if (!states_built_in() || states() == nullptr) return;
  for (const fbs::Operator* op : *model_->graph().operators()) {
    if (!changes_state(op->params_type())) continue;
    const uint32_t state = state_of(*op);
    states()->commit(state, states()->shapes()[state].length_after(shape(op->inputs()->Get(0))));
  }
  computing().states_advanced();
}

Status Session::resize(size_t input, const Shape& shape) {
  const auto& ports = *model_->graph().inputs();
  if (input >= ports.size()) {
    return error(FERRY_INVALID_ARGUMENT, "input %zu does not exist: the model has %zu", input,
                 static_cast<size_t>(ports.size()));
  }
  const std::span<Shape> wanted = input_shapes();
  wanted[input] = shape;
  return resize(wanted);
}

std::span<Shape> Session::input_shapes() {
  input_shapes_.clear();
  for (const fbs::Port* port : *model_->graph().inputs()) input_shapes_.push_back(shapes_[port->tensor()]);
  return input_shapes_;
}

Status Session::resize(std::span<const Shape> wanted) {
  const auto& ports = *model_->graph().inputs();
  next_ = shapes_;
  bool changed = false, fits = true;
  for (unsigned i = 0; i < ports.size(); ++i) {
    Shape& next = next_[ports.Get(i)->tensor()];
    if (wanted[i] == next) continue;
    changed = true;
    fits = fits && may_have(wanted[i], next.rank);
    next = wanted[i];
  }
  if (!changed && !resize_failed_) return {};
  answered_ = false;
  Status status = fits ? follow_inputs() : Status(kNoShape);
  if (status.ok()) return {};
  // Messages are formatted only here: within the bounds, nothing is allocated.
  std::string refused;
  bool channels_first = false;
  for (unsigned i = 0; i < ports.size(); ++i) {
    const fbs::Port& port = *ports.Get(i);
    const Shape& former = shapes_[port.tensor()];
    if (wanted[i] == former) continue;
    channels_first |=
        port.source_layout() == fbs::Layout::NCHW && wanted[i][1] == former[3] && wanted[i][3] != former[3];
    refused += (refused.empty() ? "input '" : ", nor '") + port.name()->str() +
               (refused.empty() ? "' cannot have shape " : "' ") + to_string(wanted[i]);
    if (fits || may_have(wanted[i], former.rank)) continue;
    return error(FERRY_SHAPE_MISMATCH,
                 "%s: it has %d dimensions of at least 1 and at most " FERRY_MAX_ELEMENTS " elements", refused.c_str(),
                 former.rank);
  }
  return error(status.code(), "%s: %s%s", refused.empty() ? "the present shapes" : refused.c_str(),
               status.message().data(), channels_first ? "; it is [N,H,W,C] here" : "");
}

// Infers all shapes from the inputs' shapes in next_ and adopts them.
Status Session::follow_inputs() {
  const StatesLock lock(states().get());
  FERRY_TRY(lock.status());
  if (states_built_in() && states() != nullptr) states()->drop_unseen();
  Status status = infer_next(states() != nullptr ? states()->shapes() : std::span<const StateShape>());
  const bool full = status.code() == FERRY_STATE_FULL;
  if (full) {  // the next run reports it, unless the states are shortened before
    for (StateShape& state : followed_) state.length = state.first = 0;
    status = infer_next(followed_);
  }
  FERRY_TRY(status);
  status = adopt_next();
  resize_failed_ = !status.ok();
  FERRY_TRY(status);
  if (states() != nullptr) std::copy(states()->shapes().begin(), states()->shapes().end(), followed_.begin());
  if (full)  // shapes were inferred for empty states, but operators saw the full ones: the next run infers them again
    for (StateShape& state : followed_) state.length = -1;
  followed_moves_ = states() != nullptr ? states()->moves() : 0;
  return {};
}

void Session::count_outputs() {
  if (exact_shapes_.empty()) return;
  const auto& ports = *model_->graph().outputs();
  for (unsigned i = 0; i < ports.size(); ++i) {
    const fbs::Port& port = *ports.Get(i);
    const Shape& padded = shape(port.tensor());
    Shape& exact = exact_shapes_[i] = padded;
    if (port.counts() == nullptr) continue;
    for (int d = 0; d < padded.rank; ++d) {
      const int32_t index = port.counts()->Get(static_cast<unsigned>(d));
      if (index < 0) continue;
      const auto* size = static_cast<const int32_t*>(data(ports.Get(static_cast<unsigned>(index))->tensor()));
      exact[d] = std::clamp(*size, 0, padded[d]);
    }
    compact(padded, exact, static_cast<char*>(data(port.tensor())));
  }
}

Status Session::reserve(std::span<const Shape> inputs) {
  const StatesLock lock(states().get());
  FERRY_TRY(lock.status());
  const auto& ports = *model_->graph().inputs();
  for (unsigned i = 0; i < ports.size(); ++i) {
    const int rank = shapes_[ports.Get(i)->tensor()].rank;
    if (!may_have(inputs[i], rank))
      return error(FERRY_SHAPE_MISMATCH, "input '%s' cannot have shape %s: it has %d dimensions of at least 1",
                   ports.Get(i)->name()->c_str(), in_words(inputs[i]).c_str(), rank);
  }
  Shapes bounds;
  FERRY_TRY(infer_bounds(inputs, &bounds));
  FERRY_TRY(prepare(shapes_, bounds));
  bounds_ = std::move(bounds);
  return {};
}

}  // namespace ferry
