#include <algorithm>

#include "converter/passes/pointwise.h"
#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// A range of input channels of a product; `begin` is the first column of its weight.
struct InputChannels {
  TensorId value;
  int begin, count;
  const fbs::OperatorT* resize = nullptr;  // its upscaling; null: none
};

int64_t positions_of(const Shape& map) { return int64_t{map[1]} * map[2]; }

// The resize that upscales `value`, if `reader` is its only reader.
const fbs::OperatorT* upscales(const Graph& graph, const Rewriter& rewriter, TensorId value, fbs::OperatorT* reader) {
  const fbs::OperatorT* op = rewriter.producer(value);
  if (!op || !op->params.AsResize2d() || rewriter.only_reader(value) != reader) return nullptr;
  return positions_of(graph.shape(value)) > positions_of(graph.shape(op->inputs.front())) ? op : nullptr;
}

// Inputs of `op`: one upscaled map, or concatenated maps. Empty if there is nothing to gain.
std::vector<InputChannels> parts_of(const Graph& graph, const Rewriter& rewriter, fbs::OperatorT* op) {
  const TensorId input = op->inputs.front();
  fbs::OperatorT* concat = rewriter.producer(input);
  std::vector<TensorId> values = {input};
  fbs::OperatorT* reader = op;
  if (concat && concat->params.AsConcat() && rewriter.only_reader(input) == op &&
      concat->params.AsConcat()->axis == graph.shape(input).rank - 1) {
    values = concat->inputs;
    reader = concat;
  }
  std::vector<InputChannels> parts;
  int begin = 0;
  for (const TensorId value : values) {
    const Shape shape = graph.shape(value);
    const int count = shape[shape.rank - 1];
    parts.push_back({value, begin, count, shape.rank == 4 ? upscales(graph, rewriter, value, reader) : nullptr});
    begin += count;
  }
  return parts;
}

// Compares multiplications per output position before and after; upscaling costs four per element.
bool pays(const Graph& graph, const std::vector<InputChannels>& parts, int outputs) {
  double before = 0, after = 0;
  bool plain = false;
  for (const InputChannels& part : parts) {
    const double product = static_cast<double>(part.count) * outputs;
    before += product;
    if (!part.resize) {
      after += product;
      plain = true;
      continue;
    }
    const double share = static_cast<double>(positions_of(graph.shape(part.resize->inputs.front()))) /
                         static_cast<double>(positions_of(graph.shape(part.value)));
    before += 4 * part.count;
    after += product * share + 5.0 * outputs;
  }
  return after - (plain ? 0 : outputs) < before;
}

Tensor columns_of(Graph& graph, TensorId weight, const std::vector<InputChannels>& parts) {
  const Shape shape = graph.shape(weight);
  int width = 0;
  for (const InputChannels& part : parts) width += part.count;
  const auto rows = static_cast<size_t>(shape[0]), row = static_cast<size_t>(shape[shape.rank - 1]);
  return pointwise_weight(graph, weight, width, [all = later_values(graph, weight), parts, rows, row] {
    const std::vector<double> values = all();
    std::vector<double> columns;
    for (size_t o = 0; o < rows; ++o)
      for (const InputChannels& part : parts) {
        const auto from = values.begin() + static_cast<std::ptrdiff_t>(o * row) + part.begin;
        columns.insert(columns.end(), from, from + part.count);
      }
    return columns;
  });
}

// `op`'s product of some of its parts, with its bias if `with_bias`.
Tensor product_of(Graph& graph, const fbs::OperatorT& op, Tensor x, const std::vector<InputChannels>& parts,
                  bool with_bias) {
  std::vector<Tensor> inputs = {x, columns_of(graph, op.inputs[1], parts)};
  if (with_bias && op.inputs.size() > 2) inputs.push_back({&graph, op.inputs[2]});
  const auto* linear = op.params.AsLinear();
  return linear ? graph.add_op(op.name, *linear, inputs) : graph.add_op(op.name, *op.params.AsConv2d(), inputs);
}

void rewrite(Graph& graph, Rewriter& rewriter, fbs::OperatorT* op, const std::vector<InputChannels>& parts) {
  std::vector<InputChannels> plain, upscaled;
  for (const InputChannels& part : parts) (part.resize ? upscaled : plain).push_back(part);
  std::vector<Tensor> terms;
  if (!plain.empty()) {
    std::vector<Tensor> values;
    for (const InputChannels& part : plain) values.push_back({&graph, part.value});
    fbs::ConcatT concat;
    concat.axis = graph.shape(op->inputs.front()).rank - 1;
    const Tensor x = values.size() > 1 ? graph.add_op("", concat, values) : values.front();
    terms.push_back(product_of(graph, *op, x, plain, true));
  }
  fbs::OpParamsUnion params;
  std::vector<Tensor> inputs;
  for (const InputChannels& part : upscaled) {
    // Resize weights sum to 1, so the bias can be added before upscaling.
    const Tensor x{&graph, part.resize->inputs.front()};
    inputs = {product_of(graph, *op, x, {part}, terms.empty())};
    for (size_t i = 1; i < part.resize->inputs.size(); ++i) inputs.push_back({&graph, part.resize->inputs[i]});
    const fbs::Resize2dT& resize = *part.resize->params.AsResize2d();
    if (parts.size() == 1) {
      params.Set(fbs::Resize2dT(resize));
      return rewriter.replace(op, std::move(params), inputs);
    }
    terms.push_back(graph.add_op(part.resize->name, resize, inputs));
  }
  const fbs::BinaryT add;  // the first kind
  while (terms.size() > 2) {
    const Tensor sum = graph.add_op(op->name, add, {terms[0], terms[1]});
    terms.erase(terms.begin());
    terms.front() = sum;
  }
  params.Set(fbs::BinaryT(add));
  rewriter.replace(op, std::move(params), terms);
}

}  // namespace

void multiply_before_upscaling(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  for (size_t i = 0; i < ops.size(); ++i) {
    fbs::OperatorT* const op = ops[i].get();
    if (!is_pointwise(graph, *op)) continue;
    const std::vector<InputChannels> parts = parts_of(graph, rewriter, op);
    const bool any = std::any_of(parts.begin(), parts.end(), [](const InputChannels& part) { return part.resize; });
    if (!any || !pays(graph, parts, graph.shape(op->inputs[1])[0])) continue;
    const size_t before = ops.size();
    rewrite(graph, rewriter, op, parts);
    // Moves the new operators from the end to before their reader.
    std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(i), ops.begin() + static_cast<std::ptrdiff_t>(before),
                ops.end());
    i += ops.size() - before;
  }
  rewriter.finish();
}

}  // namespace ferry
