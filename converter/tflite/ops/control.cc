// Operators that run other subgraphs (converter/tflite/subgraphs.h). A blob has no branches: a known condition selects
// one, any other computes both. A loop whose conditions are known becomes as many copies of its body, others stay
// loops.
#include "converter/tflite/ops/ops.h"
#include "converter/tflite/subgraphs.h"

namespace ferry::tflite {
namespace {

constexpr int kMaxIterations = 4096;
// Of schema versions after 3b: fields of Operator, the number of StableHLOCompositeOptions in their union, and its
// field decomposition_subgraph_index.
constexpr flatbuffers::voffset_t kOptions2Type = 26, kOptions2 = 28, kDecomposition = 6;
constexpr uint8_t kCompositeOptions = 21;

std::vector<Passed> inputs_from(const Op& op, size_t first) {
  std::vector<Passed> inputs;
  for (size_t i = first; i < op.input_count(); ++i) inputs.push_back(op.passed(i));
  return inputs;
}

void set_outputs(const Op& op, const std::vector<Passed>& outputs) {
  if (outputs.size() != op.output_count())
    op.refuse("its subgraph has %zu outputs, it has %zu", outputs.size(), op.output_count());
  for (size_t i = 0; i < outputs.size(); ++i) op.set_passed(i, outputs[i]);
}

Tensor selected(const Op& op, Tensor condition, const Passed& a, const Passed& b) {
  if (!a.value || !b.value) op.refuse("its branches return variables, and its condition depends on the inputs");
  if (a.value->shape() != b.value->shape() || a.value->dtype() != b.value->dtype())
    op.refuse("its branches return %s and %s, and its condition depends on the inputs",
              to_string(a.value->shape()).c_str(), to_string(b.value->shape()).c_str());
  return reshape_to(select(condition, *a.value, *b.value), dims_of(*a.value));
}

// A condition that is the same in every run.
std::optional<bool> known_condition(const Op& op, const Passed& condition) {
  if (!condition.value || condition.value->shape().elements() != 1) op.refuse("its condition is no single value");
  if (!op.graph().is_constant(condition.value->id)) return {};
  return op.graph().values(condition.value->id)[0] != 0;
}

// The subgraph that StableHLOCompositeOptions names.
int decomposition_of(const Op& op) {
  const std::span<const std::byte> bytes = op.file().mapped->bytes();
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto& table = reinterpret_cast<const flatbuffers::Table&>(op.operator_of_file());
  if (!table.VerifyField<uint8_t>(verifier, kOptions2Type, 1) || !table.VerifyOffset(verifier, kOptions2))
    op.refuse("its options are damaged");
  const auto* options = table.GetPointer<const flatbuffers::Table*>(kOptions2);
  if (table.GetField<uint8_t>(kOptions2Type, 0) != kCompositeOptions || options == nullptr)
    op.refuse("its options are missing");
  if (!options->VerifyTableStart(verifier) || !options->VerifyField<int32_t>(verifier, kDecomposition, 4))
    op.refuse("its options are damaged");
  return options->GetField<int32_t>(kDecomposition, 0);
}

Passed condition_of(const Op& op, const std::vector<Passed>& values) {
  const auto& o = op.options<schema::WhileOptions>();
  const std::vector<Passed> condition = run_subgraph(op, o.cond_subgraph_index(), values);
  if (condition.size() != 1) op.refuse("its condition has %zu outputs, expected one", condition.size());
  return condition[0];
}

// A loop that the run ends. `first`: whether there is a step at all.
std::vector<Passed> loop_in_run(const Op& op, Tensor first, const std::vector<Passed>& values) {
  Graph& graph = op.graph();
  const auto integer = [&](int32_t value) { return graph.add_constant("", Shape{1}, std::vector<int32_t>{value}); };
  constexpr int32_t kUntilTheCondition = -1;
  const Tensor extent = integer(0), count = select(reshape_to(first, {1}), integer(kUntilTheCondition), integer(0));
  std::vector<Tensor> inputs = {extent, count};
  for (const Passed& value : values) {
    if (!value.value) op.refuse("it passes variables, and how often it runs depends on the inputs");
    inputs.push_back(*value.value);
  }
  fbs::LoopBeginT begin;
  begin.unlimited = true;
  const std::vector<Tensor> now = graph.add_op_with_outputs("", begin, inputs, inputs.size() - 1);
  std::vector<Passed> states;
  for (size_t i = 1; i < now.size(); ++i) states.push_back({now[i]});

  const size_t assignments = op.variables().assignments();
  const std::vector<Passed> next = run_subgraph(op, op.options<schema::WhileOptions>().body_subgraph_index(), states);
  if (next.size() != states.size()) op.refuse("its body has %zu outputs, it has %zu", next.size(), states.size());
  for (size_t i = 0; i < next.size(); ++i) {
    const std::optional<Tensor>& after = next[i].value;
    if (!after || after->shape() != now[i + 1].shape() || after->dtype() != now[i + 1].dtype())
      op.refuse("value %zu is %s before a step, and %s after it", i, to_string(now[i + 1].shape()).c_str(),
                after ? to_string(after->shape()).c_str() : "a variable");
  }
  const Passed again = condition_of(op, next);
  known_condition(op, again);  // that it is a single value
  if (op.variables().assignments() != assignments)
    op.refuse("it assigns variables, and how often it runs depends on the inputs");

  std::vector<Tensor> ends = {extent, now[0], count, reshape_to(*again.value, {1})};
  ends.insert(ends.end(), now.begin() + 1, now.end());
  for (const Passed& after : next) ends.push_back(*after.value);
  fbs::LoopEndT end;
  end.states = static_cast<int32_t>(next.size());
  end.unlimited = true;
  const std::vector<Tensor> results = graph.add_op_with_outputs("", end, ends, 1 + next.size());
  std::vector<Passed> outputs;
  for (size_t i = 1; i < results.size(); ++i) outputs.push_back({results[i]});
  return outputs;
}

}  // namespace

// inputs: the condition, and what either branch takes.
void if_branches(Op& op) {
  const auto& o = op.options<schema::IfOptions>();
  const Passed condition = op.passed(0);
  const std::vector<Passed> inputs = inputs_from(op, 1);
  if (const std::optional<bool> known = known_condition(op, condition))
    return set_outputs(op, run_subgraph(op, *known ? o.then_subgraph_index() : o.else_subgraph_index(), inputs));
  const size_t assignments = op.variables().assignments();
  const std::vector<Passed> then = run_subgraph(op, o.then_subgraph_index(), inputs);
  const std::vector<Passed> otherwise = run_subgraph(op, o.else_subgraph_index(), inputs);
  if (op.variables().assignments() != assignments)
    op.refuse("its branches assign variables, and its condition depends on the inputs");
  if (then.size() != otherwise.size())
    op.refuse("its branches have %zu and %zu outputs", then.size(), otherwise.size());
  const Tensor one = reshape_to(*condition.value, {1});
  std::vector<Passed> outputs;
  for (size_t i = 0; i < then.size(); ++i) outputs.push_back({selected(op, one, then[i], otherwise[i])});
  set_outputs(op, outputs);
}

void while_loop(Op& op) {
  const auto& o = op.options<schema::WhileOptions>();
  std::vector<Passed> values = inputs_from(op, 0);
  for (int i = 0;; ++i) {
    const Passed condition = condition_of(op, values);
    const std::optional<bool> known = known_condition(op, condition);
    if (!known) return set_outputs(op, loop_in_run(op, *condition.value, values));
    if (!*known) break;
    if (i == kMaxIterations) op.refuse("it runs more than %d times", kMaxIterations);
    values = run_subgraph(op, o.body_subgraph_index(), values);
  }
  set_outputs(op, values);
}

void stablehlo_composite(Op& op) { set_outputs(op, run_subgraph(op, decomposition_of(op), inputs_from(op, 0))); }

}  // namespace ferry::tflite
