// Losses of classifiers, as networks that are exported for evaluation have them.
#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// The loss of log-probabilities [N,C,...] for the classes of input 1, with weights of classes in input 2.
void set_loss(Op& op, Tensor log_probabilities) {
  const Dims dims = dims_of(log_probabilities), classes = op.dims(1);
  Dims wanted = dims;
  if (dims.size() >= 2) wanted.erase(wanted.begin() + 1);
  if (dims.size() < 2 || classes != wanted)
    op.refuse("classes %s for scores %s", to_string(classes).c_str(), to_string(dims).c_str());
  if (op.has(2) && op.dims(2) != Dims{dims[1]})
    op.refuse("weights %s for %lld classes", to_string(op.dims(2)).c_str(), static_cast<long long>(dims[1]));
  if (is_float(op.type(1))) op.refuse("classes of type %s, expected integers", type_name(op.type(1)).c_str());
  const std::string reduction = op.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    op.refuse("attribute 'reduction' is '%s', expected none, sum or mean", reduction.c_str());

  const Dims rows = {dims[0], 1, count_elements(dims) / (dims[0] * dims[1])};
  Tensor index = reshape_to(cast_to(op.tensor(1), fbs::DType::Int32), rows);
  std::optional<Tensor> counts;  // 0 for classes that do not count
  if (op.has_attribute("ignore_index")) {
    const int64_t ignored = op.integer("ignore_index", 0);
    to_int32({ignored});
    const Tensor is_ignored = binary(fbs::BinaryKind::Equal, index, scalar(index, static_cast<double>(ignored)));
    counts = cast_to(unary(is_ignored, fbs::UnaryKind::Not), fbs::DType::Float32);
    index = select(is_ignored, scalar(index, 0), index);
  }
  fbs::GatherT along;
  along.kind = fbs::GatherKind::Elements;
  along.axis = 1;
  const Tensor scores = reshape_to(log_probabilities, {dims[0], dims[1], rows[2]});
  Tensor loss = op.graph().add_op("", along, {scores, index}) * -1.0;
  std::optional<Tensor> weight = counts;
  if (op.has(2)) {
    const Tensor each = op.graph().add_op("", fbs::GatherT{}, {op.floating(2), index});
    weight = weight ? *weight * each : each;
  }
  // What does not count is no number in some files, so it is selected, not multiplied.
  if (weight) loss = loss * *weight;
  if (counts) loss = select(cast_to(*counts, fbs::DType::Int32), loss, scalar(loss, 0));
  if (reduction == "none") return op.set(0, reshape_to(loss, classes), op.type(0));
  Tensor result = reduce(loss, fbs::ReduceKind::Sum, {0, 1, 2}, false);
  if (reduction == "mean") {
    const Tensor count = weight ? reduce(*weight, fbs::ReduceKind::Sum, {0, 1, 2}, false)
                                : scalar(result, static_cast<double>(count_elements(rows)));
    result = binary(fbs::BinaryKind::Div, result, count);
  }
  op.set(0, reshape_to(result, {}), op.type(0));
}

}  // namespace

void negative_log_likelihood_loss(Op& op) { set_loss(op, op.floating(0)); }

void softmax_cross_entropy_loss(Op& op) {
  const Tensor log_probabilities =
      microsoft::call(op, log_softmax, {microsoft::argument(op, 0)}, {{"axis", microsoft::attribute(int64_t{1})}});
  set_loss(op, log_probabilities);
  op.set(1, log_probabilities, op.type(0));
}

}  // namespace ferry::onnx
