#include <algorithm>

#include "converter/passes/affine.h"
#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// The origin of a summand: `after` applied to `product` (a conv2d or linear) of `source`, or to the source itself.
struct Branch {
  TensorId source;
  fbs::OperatorT* product = nullptr;
  Affine after;
  std::vector<fbs::OperatorT*> ops;  // all operators, from the sum backwards
};

bool is_free_product(const Graph& graph, const fbs::OperatorT& op) {
  const auto* conv = op.params.AsConv2d();
  const auto* linear = op.params.AsLinear();
  if (!conv && !linear) return false;
  if (conv ? clamps(conv->output_min, conv->output_max) || conv->dilation_h != 1 || conv->dilation_w != 1
           : clamps(linear->output_min, linear->output_max))
    return false;
  return by_constants(graph, op);
}

// Returns the branches that end in `tensor`, which `reader` reads: itself, the input of its scale and shift, and the
// input of the product before. Each intermediate value has a single reader.
std::vector<Branch> branches_of(const Graph& graph, const Rewriter& rewriter, TensorId tensor, fbs::OperatorT* reader) {
  const Shape shape = graph.shape(tensor);
  std::vector<Branch> ways = {{.source = tensor, .after = Affine::identity(shape[shape.rank - 1])}};
  for (Branch branch = ways.front(); !branch.product; ways.push_back(branch)) {
    fbs::OperatorT* op = rewriter.producer(branch.source);
    if (!op || rewriter.only_reader(branch.source) != reader) break;
    if (is_free_product(graph, *op)) {
      branch.product = op;
      branch.source = op->inputs.front();
    } else {
      const auto* binary = op->params.AsBinary();
      if (!binary || clamps(binary->output_min, binary->output_max)) break;
      const size_t variable = graph.is_constant(op->inputs[0]) ? 1 : 0;
      const std::optional<Affine> affine = as_affine(graph, *op, variable);
      if (!affine) break;
      branch.after = affine->then(branch.after);
      branch.source = op->inputs[variable];
    }
    branch.ops.push_back(op);
    reader = op;
  }
  return ways;
}

// A branch as one convolution without clamp and dilation; a linear layer is 1 x 1.
struct Kernel {
  fbs::Conv2dT params;
  Shape shape;  // O,KH,KW,I
  std::vector<double> weight, bias;
};

Kernel kernel_of(const Graph& graph, const Branch& branch) {
  const fbs::OperatorT& op = *branch.product;
  Kernel kernel;
  if (const auto* conv = op.params.AsConv2d()) kernel.params = *conv;
  const Shape shape = graph.shape(op.inputs[1]);
  kernel.shape = shape.rank == 4 ? shape : Shape{shape[0], 1, 1, shape[1]};
  kernel.weight = graph.values(op.inputs[1]);
  kernel.bias.assign(branch.after.scale.size(), 0.0);
  if (op.inputs.size() > 2) kernel.bias = graph.values(op.inputs[2]);
  const size_t row = kernel.weight.size() / kernel.bias.size();
  for (size_t i = 0; i < kernel.weight.size(); ++i) kernel.weight[i] *= branch.after.scale[i / row];
  for (size_t o = 0; o < kernel.bias.size(); ++o)
    kernel.bias[o] = kernel.bias[o] * branch.after.scale[o] + branch.after.shift[o];
  return kernel;
}

// The scaled and shifted source as a 1 x 1 kernel with the groups of `other`.
Kernel diagonal(const Branch& branch, const Kernel& other) {
  Kernel kernel;
  kernel.params.groups = other.params.groups;
  kernel.shape = {other.shape[0], 1, 1, other.shape[3]};
  kernel.weight.assign(static_cast<size_t>(kernel.shape.elements()), 0.0);
  const size_t columns = static_cast<size_t>(kernel.shape[3]);
  for (size_t o = 0; o < branch.after.scale.size(); ++o)
    kernel.weight[o * columns + o % columns] = branch.after.scale[o];
  kernel.bias = branch.after.shift;
  return kernel;
}

// Extent of a kernel along one axis before and after the output position, and padding beyond that at the end.
struct Reach {
  int before, after, slack;
  Reach(int kernel, int pad_before, int pad_after)
      : before(pad_before), after(kernel - 1 - pad_before), slack(pad_after - after) {}
  int size() const { return before + after + 1; }
};

// Extends `a` to cover `b`. Returns false if the sum would have another stride, or another output size at some input
// size.
bool grow(Reach* a, const Reach& b) {
  if (a->slack != b.slack) return false;
  a->before = std::max(a->before, b.before);
  a->after = std::max(a->after, b.after);
  return true;
}

void add(Kernel* to, const Kernel& from, double sign) {
  const int top = to->params.pad_top - from.params.pad_top, left = to->params.pad_left - from.params.pad_left;
  const int in = to->shape[3];
  size_t i = 0;
  for (int o = 0; o < from.shape[0]; ++o)
    for (int y = 0; y < from.shape[1]; ++y)
      for (int x = 0; x < from.shape[2]; ++x)
        for (int c = 0; c < in; ++c) {
          const int at = ((o * to->shape[1] + y + top) * to->shape[2] + x + left) * in + c;
          to->weight[static_cast<size_t>(at)] += sign * from.weight[i++];
        }
  for (size_t o = 0; o < to->bias.size(); ++o) to->bias[o] += sign * from.bias[o];
}

// a + sign * b; nothing if the sum is not one convolution, or costs more.
std::optional<Kernel> sum(const Kernel& a, const Kernel& b, double sign) {
  const fbs::Conv2dT &p = a.params, &q = b.params;
  if (p.stride_h != q.stride_h || p.stride_w != q.stride_w || p.groups != q.groups) return {};
  Reach h(a.shape[1], p.pad_top, p.pad_bottom), w(a.shape[2], p.pad_left, p.pad_right);
  if (!grow(&h, {b.shape[1], q.pad_top, q.pad_bottom}) || !grow(&w, {b.shape[2], q.pad_left, q.pad_right})) return {};
  if (h.size() * w.size() > a.shape[1] * a.shape[2] + b.shape[1] * b.shape[2]) return {};
  Kernel both;
  both.params = p;
  both.params.pad_top = h.before;
  both.params.pad_left = w.before;
  both.params.pad_bottom = h.after + h.slack;
  both.params.pad_right = w.after + w.slack;
  both.shape = {a.shape[0], h.size(), w.size(), a.shape[3]};
  both.weight.assign(static_cast<size_t>(both.shape.elements()), 0.0);
  both.bias.assign(a.bias.size(), 0.0);
  add(&both, a, 1);
  add(&both, b, sign);
  return both;
}

// Finds the nearest branches with a common source, at least one of which has a product. Returns false if there are
// none.
bool find_common_source(const std::vector<Branch>& left, const std::vector<Branch>& right, const Branch** a,
                        const Branch** b) {
  for (const Branch& l : left)
    for (const Branch& r : right)
      if (l.source == r.source && (l.product || r.product)) {
        *a = &l;
        *b = &r;
        return true;
      }
  return false;
}

void merge(Graph& graph, Rewriter& rewriter, fbs::OperatorT* op) {
  const fbs::BinaryT binary = *op->params.AsBinary();
  if (graph.shape(op->inputs[0]).rank == 0 || graph.shape(op->inputs[1]).rank == 0) return;  // no channels
  const std::vector<Branch> left = branches_of(graph, rewriter, op->inputs[0], op);
  const std::vector<Branch> right = branches_of(graph, rewriter, op->inputs[1], op);
  const Branch *a, *b;
  if (!find_common_source(left, right, &a, &b)) return;
  if (a->product && b->product && a->product->params.type != b->product->params.type) return;
  const fbs::OperatorT& product = a->product ? *a->product : *b->product;
  const bool linear = product.params.type == fbs::OpParams::Linear;

  const Kernel some = kernel_of(graph, a->product ? *a : *b);
  const Kernel other = a->product && b->product ? kernel_of(graph, *b) : diagonal(a->product ? *b : *a, some);
  const double sign = binary.kind == fbs::BinaryKind::Sub ? -1 : 1;
  std::optional<Kernel> kernel = a->product ? sum(some, other, sign) : sum(other, some, sign);
  if (!kernel) return;

  const std::string name = graph.at(product.inputs[1]).name;
  const std::string bias_name = product.inputs.size() > 2 ? graph.at(product.inputs[2]).name : product.name + ".bias";
  const Shape shape = linear ? Shape{kernel->shape[0], kernel->shape[3]} : kernel->shape;
  const Tensor weight = graph.add_constant(name, shape, std::move(kernel->weight));
  const Tensor bias = graph.add_constant(bias_name, Shape{shape[0]}, std::move(kernel->bias));
  fbs::OpParamsUnion params;
  if (linear)
    params.Set(fbs::LinearT{});
  else
    params.Set(kernel->params);
  const TensorId source = a->source;
  rewriter.replace(op, std::move(params), {{&graph, source}, weight, bias});
  const Clamp clamp = clamp_of(*op);
  *clamp.low = binary.output_min;
  *clamp.high = binary.output_max;
  for (const Branch* branch : {a, b})
    for (fbs::OperatorT* gone : branch->ops) rewriter.remove(gone);
}

}  // namespace

void merge_branches(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    const auto* binary = op->params.AsBinary();
    if (op->outputs.empty() || !binary) continue;
    if (binary->kind != fbs::BinaryKind::Add && binary->kind != fbs::BinaryKind::Sub) continue;
    const Shape shape = graph.shape(op->outputs.front());
    const bool sum = graph.shape(op->inputs[0]) == shape && graph.shape(op->inputs[1]) == shape && shape.rank > 0;
    if (sum) merge(graph, rewriter, op.get());
  }
  rewriter.finish();
}

}  // namespace ferry
