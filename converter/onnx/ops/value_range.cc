#include "converter/onnx/ops/value_range.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ferry::onnx {
namespace {

// Some elements of a tensor: those whose index in memory is `first` modulo `step`. A column of boxes [N,4] is such a
// set, and stays one where boxes are selected or reshaped.
struct Elements {
  int64_t step = 1, first = 0;
};

constexpr Elements kAll;

Range united(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

class Ranges {
 public:
  explicit Ranges(const Graph& graph) : graph_(graph) {
    for (const auto& op : graph.table.operators)
      for (const TensorId output : op->outputs) producers_[output] = op.get();
  }

  Range of(TensorId tensor, Elements e) {
    constexpr int64_t kLargestStep = 1 << 20;
    if (e.step > kLargestStep) return {};
    if (graph_.is_constant(tensor)) return of_constant(tensor, e);
    if (--budget_ <= 0) return {};
    const auto found = producers_.find(tensor);
    return found == producers_.end() ? Range{} : of_output(*found->second, e);
  }

 private:
  Range of_constant(TensorId tensor, Elements e) {
    constexpr size_t kMost = 1 << 12;
    const std::vector<double> values = graph_.values(tensor);
    if (values.empty() || values.size() > kMost) return {};
    Range range{values[0], values[0]};
    if (static_cast<size_t>(e.first) < values.size())
      range = {values[static_cast<size_t>(e.first)], values[static_cast<size_t>(e.first)]};
    for (size_t i = static_cast<size_t>(e.first); i < values.size(); i += static_cast<size_t>(e.step))
      range = united(range, {values[i], values[i]});
    return range;
  }

  // An operand of an elementwise operator.
  Range operand(const fbs::OperatorT& op, size_t i, Elements e) {
    const bool same = graph_.shape(op.inputs[i]).elements() == graph_.shape(op.outputs[0]).elements();
    return of(op.inputs[i], same ? e : kAll);
  }

  Range of_binary(const fbs::OperatorT& op, Elements e) {
    const fbs::BinaryKind kind = op.params.AsBinary()->kind;
    if (kind != fbs::BinaryKind::Add && kind != fbs::BinaryKind::Sub && kind != fbs::BinaryKind::Min &&
        kind != fbs::BinaryKind::Max)
      return {};
    const Range a = operand(op, 0, e), b = operand(op, 1, e);
    if (kind == fbs::BinaryKind::Add) return {a.low + b.low, a.high + b.high};
    if (kind == fbs::BinaryKind::Sub) return {a.low - b.high, a.high - b.low};
    if (kind == fbs::BinaryKind::Min) return {std::min(a.low, b.low), std::min(a.high, b.high)};
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }

  Range of_unary(const fbs::OperatorT& op, Elements e) {
    const fbs::UnaryT& unary = *op.params.AsUnary();
    const Range x = of(op.inputs[0], e);
    switch (unary.kind) {
      case fbs::UnaryKind::Clamp: {
        const double low = static_cast<double>(unary.alpha), high = static_cast<double>(unary.beta);
        return {std::clamp(x.low, low, std::max(low, high)), std::clamp(x.high, low, std::max(low, high))};
      }
      case fbs::UnaryKind::Floor:
      case fbs::UnaryKind::Ceil: return {std::floor(x.low), std::ceil(x.high)};
      default: return {};
    }
  }

  // The part that holds the elements if they lie in one; else all parts.
  Range of_concat(const fbs::OperatorT& op, Elements e) {
    const Shape out = graph_.shape(op.outputs[0]);
    const int axis = op.params.AsConcat()->axis;
    int64_t inner = 1;  // elements after the axis
    for (int d = axis + 1; d < out.rank; ++d) inner *= out[d];
    const int64_t row = inner * out[axis];
    int64_t before = 0;
    std::optional<Range> all;
    for (const TensorId input : op.inputs) {
      const int64_t part = inner * graph_.shape(input)[axis], at = e.first % row - before;
      if (e.step % row == 0 && at >= 0 && at < part) return of(input, {e.step / row * part, e.first / row * part + at});
      const Range range = e.step % row == 0 ? Range{} : of(input, kAll);
      all = all ? united(*all, range) : range;
      before += part;
    }
    return all.value_or(Range{});
  }

  // Rows keep their elements; a column is every so many elements.
  Range of_gather(const fbs::OperatorT& op, Elements e) {
    const fbs::GatherT& gather = *op.params.AsGather();
    const Shape in = graph_.shape(op.inputs[0]);
    if (gather.kind != fbs::GatherKind::Slices) return of(op.inputs[0], kAll);
    int64_t inner = 1;
    for (int d = gather.axis + 1; d < in.rank; ++d) inner *= in[d];
    const TensorId index = op.inputs[1];
    if (inner == 1 && graph_.is_constant(index) && graph_.shape(index).elements() == 1) {
      const int64_t size = in[gather.axis], at = to_integer(graph_.values(index)[0]);
      return of(op.inputs[0], {e.step * size, e.first * size + (at < 0 ? at + size : at)});
    }
    return of(op.inputs[0], inner % e.step == 0 ? e : kAll);
  }

  // As of_gather.
  Range of_slice(const fbs::OperatorT& op, Elements e) {
    const Shape in = graph_.shape(op.inputs[0]), out = graph_.shape(op.outputs[0]);
    const std::vector<int32_t>& begin = op.params.AsSlice()->begin;
    int cut = -1;
    for (int d = 0; d < in.rank; ++d) {
      if (in[d] == out[d]) continue;
      if (cut >= 0) return of(op.inputs[0], kAll);
      cut = d;
    }
    if (cut < 0) return of(op.inputs[0], e);
    int64_t inner = 1;
    for (int d = cut + 1; d < in.rank; ++d) inner *= in[d];
    const auto at = static_cast<size_t>(cut);
    if (inner * out[cut] == 1 && at < begin.size() && begin[at] >= 0)
      return of(op.inputs[0], {e.step * in[cut], e.first * in[cut] + begin[at]});
    return of(op.inputs[0], inner % e.step == 0 ? e : kAll);
  }

  Range of_output(const fbs::OperatorT& op, Elements e) {
    switch (op.params.type) {
      case fbs::OpParams::Unary: return of_unary(op, e);
      case fbs::OpParams::Binary: return of_binary(op, e);
      case fbs::OpParams::Reshape:
      case fbs::OpParams::Cast: return of(op.inputs[0], e);
      case fbs::OpParams::Transpose: return of(op.inputs[0], kAll);
      case fbs::OpParams::Slice: return of_slice(op, e);
      case fbs::OpParams::Gather: return of_gather(op, e);
      case fbs::OpParams::Concat: return of_concat(op, e);
      case fbs::OpParams::Select: return united(operand(op, 1, e), operand(op, 2, e));
      default: return {};
    }
  }

  const Graph& graph_;
  std::map<TensorId, const fbs::OperatorT*> producers_;
  int budget_ = 1024;  // expressions whose parts are used twice would otherwise take exponential work
};

}  // namespace

Range range_of(Tensor x) { return Ranges(*x.graph).of(x.id, kAll); }

}  // namespace ferry::onnx
