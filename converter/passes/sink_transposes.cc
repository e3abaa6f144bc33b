// Moves transposes down the graph: an operator that works in any order of dimensions is applied to the untransposed
// value, and the transpose follows it, until it meets its inverse. Networks written for N,C,H,W thus run channels last.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "converter/passes/passes.h"

namespace ferry {
namespace {

using Perm = std::vector<int32_t>;

Perm identity(int rank) {
  Perm perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

bool is_identity(const Perm& perm) { return std::is_sorted(perm.begin(), perm.end()); }

Perm inverse(const Perm& perm) {
  Perm out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) out[static_cast<size_t>(perm[i])] = static_cast<int32_t>(i);
  return out;
}

// `first`, followed by `second`.
Perm compose(const Perm& first, const Perm& second) {
  Perm out;
  for (const int32_t p : second) out.push_back(first[static_cast<size_t>(p)]);
  return out;
}

Shape permuted(const Shape& shape, const Perm& perm) {
  Shape out;
  for (const int32_t p : perm) out[out.rank++] = shape[p];
  return out;
}

// A value that is the transpose of another: its dimension i is dimension perm[i] of `base`.
struct View {
  TensorId base = TensorId::None;
  Perm perm;
};

class Sinker {
 public:
  explicit Sinker(Graph& graph) : graph_(graph) {
    for (const TensorId t : graph.tensors()) rest(t);
  }

  void run();

 private:
  using Op = std::unique_ptr<fbs::OperatorT>;

  int rank(TensorId tensor) const { return graph_.shape(tensor).rank; }
  void rest(TensorId tensor) { views_[tensor] = {tensor, identity(rank(tensor))}; }
  const View& view(TensorId tensor) const { return views_.at(tensor); }

  // The tensor itself; inserts its pending transpose if necessary.
  TensorId carried_out(TensorId tensor);
  // A tensor whose transpose by `perm` broadcasts like `tensor`, to the rank of `perm`.
  TensorId brought_under(TensorId tensor, const Perm& perm);
  // Appends an operator that transposes can pass, or a transpose.
  TensorId emit(const std::string& name, const fbs::OpParamsUnion& params, const std::vector<TensorId>& inputs);
  TensorId transposed(TensorId tensor, const Perm& perm);
  TensorId reshaped(TensorId tensor, const Shape& shape);
  TensorId copied(TensorId tensor, const Shape& shape);
  TensorId transposed_constant(TensorId tensor, const Shape& as, const Perm& perm);

  // Emits `op` on the bases; its output is a view. Returns false if it cannot.
  bool sink(const Op& op);
  bool sink_elementwise(const Op& op);
  bool sink_conversion(const Op& op);
  bool sink_concat(const Op& op);
  bool sink_reduce(const Op& op);
  bool sink_reshape(const Op& op);
  // The most frequent non-identity order among activations of full rank in `inputs`.
  std::optional<Perm> common_order(const std::vector<TensorId>& inputs, int rank) const;
  void finish(const Op& op, const fbs::OpParamsUnion& params, const std::vector<TensorId>& inputs, const Perm& perm) {
    views_[op->outputs.front()] = {emit(op->name, params, inputs), perm};
  }

  Graph& graph_;
  std::map<TensorId, View> views_;
  std::map<std::pair<TensorId, Perm>, TensorId> transposes_;
};

TensorId Sinker::emit(const std::string& name, const fbs::OpParamsUnion& params, const std::vector<TensorId>& inputs) {
  std::vector<Tensor> tensors;
  for (const TensorId input : inputs) tensors.push_back({&graph_, input});
  Tensor out;
  switch (params.type) {
#define FERRY_EMIT(Type) \
  case fbs::OpParams::Type: out = graph_.add_op(name, *params.As##Type(), tensors); break
    FERRY_EMIT(Binary);
    FERRY_EMIT(Cast);
    FERRY_EMIT(Concat);
    FERRY_EMIT(LayerNorm);
    FERRY_EMIT(Linear);
    FERRY_EMIT(Pad);
    FERRY_EMIT(Reduce);
    FERRY_EMIT(Requantize);
    FERRY_EMIT(Reshape);
    FERRY_EMIT(Select);
    FERRY_EMIT(Slice);
    FERRY_EMIT(Softmax);
    FERRY_EMIT(Transpose);
    FERRY_EMIT(Unary);
#undef FERRY_EMIT
    default: fail("'%s': transposes do not pass a %s", name.c_str(), fbs::EnumNameOpParams(params.type));
  }
  rest(out.id);
  return out.id;
}

TensorId Sinker::reshaped(TensorId tensor, const Shape& shape) {
  return graph_.shape(tensor) == shape ? tensor : copied(tensor, shape);
}

TensorId Sinker::copied(TensorId tensor, const Shape& shape) {
  fbs::ReshapeT params;
  params.shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  fbs::OpParamsUnion reshape;
  reshape.Set(params);
  return emit("", reshape, {tensor});
}

TensorId Sinker::transposed(TensorId tensor, const Perm& perm) {
  if (is_identity(perm)) return tensor;
  const auto [known, fresh] = transposes_.try_emplace({tensor, perm}, TensorId::None);
  if (!fresh) return known->second;
  const Shape shape = graph_.shape(tensor);
  // If only dimensions of 1 move, no element moves.
  Perm moving;
  for (const int32_t p : perm)
    if (shape[p] != 1) moving.push_back(p);
  TensorId out = TensorId::None;
  if (is_identity(moving)) {
    out = reshaped(tensor, permuted(shape, perm));
  } else {
    fbs::TransposeT params;
    params.perm = perm;
    fbs::OpParamsUnion transpose;
    transpose.Set(params);
    out = emit("", transpose, {tensor});
  }
  transposes_[{tensor, perm}] = out;
  return out;
}

TensorId Sinker::carried_out(TensorId tensor) {
  const View v = view(tensor);
  return transposed(v.base, v.perm);
}

TensorId Sinker::transposed_constant(TensorId tensor, const Shape& as, const Perm& perm) {
  const Shape to = permuted(as, perm);
  const std::vector<double> from = graph_.values(tensor);
  std::vector<double> values(from.size());
  std::array<int64_t, FERRY_MAX_RANK> strides{};
  int64_t stride = 1;
  for (int i = as.rank - 1; i >= 0; stride *= as[i--]) strides[static_cast<size_t>(i)] = stride;
  for (size_t i = 0; i < values.size(); ++i) {
    auto left = static_cast<int64_t>(i), at = int64_t{0};
    for (int d = to.rank - 1; d >= 0; left /= to[d--])
      at += left % to[d] * strides[static_cast<size_t>(perm[static_cast<size_t>(d)])];
    values[i] = from[static_cast<size_t>(at)];
  }
  const std::string& name = graph_.at(tensor).name;
  if (graph_.dtype(tensor) == fbs::DType::Int32)
    return graph_.add_constant(name, to, std::vector<int32_t>(values.begin(), values.end())).id;
  return graph_.add_constant(name, to, std::move(values)).id;
}

TensorId Sinker::brought_under(TensorId tensor, const Perm& perm) {
  const Shape shape = graph_.shape(tensor);
  const auto full = static_cast<int>(perm.size());
  if (shape.elements() == 1 && graph_.is_constant(tensor)) return tensor;
  const View v = view(tensor);
  if (v.perm == perm) return v.base;
  Shape wide;
  for (int i = 0; i < full - shape.rank; ++i) wide[wide.rank++] = 1;
  for (int i = 0; i < shape.rank; ++i) wide[wide.rank++] = shape[i];
  const Perm back = inverse(perm);
  TensorId out = TensorId::None;
  if (graph_.is_constant(tensor)) {
    out = transposed_constant(tensor, wide, back);
    rest(out);
  } else {
    out = transposed(reshaped(carried_out(tensor), wide), back);
  }
  return out;
}

std::optional<Perm> Sinker::common_order(const std::vector<TensorId>& inputs, int rank) const {
  std::map<Perm, int64_t> weights;
  for (const TensorId input : inputs) {
    const View& v = view(input);
    if (!graph_.is_constant(input) && static_cast<int>(v.perm.size()) == rank)
      weights[v.perm] += graph_.shape(input).elements();
  }
  const auto best = std::max_element(weights.begin(), weights.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == weights.end() || is_identity(best->first)) return {};
  return best->first;
}

bool Sinker::sink_elementwise(const Op& op) {
  const int rank_out = rank(op->outputs.front());
  const auto perm = common_order(op->inputs, rank_out);
  if (!perm) return false;
  std::vector<TensorId> inputs;
  for (const TensorId input : op->inputs) inputs.push_back(brought_under(input, *perm));
  finish(op, op->params, inputs, *perm);
  return true;
}

bool Sinker::sink_conversion(const Op& op) {
  if (!sink_elementwise(op)) return false;
  const TensorId output = op->outputs.front();
  if (const Type type = graph_.type(output); type.quantized)
    graph_.set_quantization(view(output).base, type.float_scale, type.zero_point);
  return true;
}

bool Sinker::sink_concat(const Op& op) {
  const auto perm = common_order(op->inputs, rank(op->outputs.front()));
  if (!perm) return false;
  fbs::OpParamsUnion params = op->params;
  params.AsConcat()->axis = (*perm)[static_cast<size_t>(params.AsConcat()->axis)];
  std::vector<TensorId> inputs;
  for (const TensorId input : op->inputs) {
    // A constant here is one of several parts, not an operand: it keeps its size even if it has one element.
    const bool single = graph_.is_constant(input) && graph_.shape(input).elements() == 1;
    inputs.push_back(single ? transposed(input, inverse(*perm)) : brought_under(input, *perm));
  }
  finish(op, params, inputs, *perm);
  return true;
}

bool Sinker::sink_reduce(const Op& op) {
  const View v = view(op->inputs.front());
  fbs::OpParamsUnion params = op->params;
  auto& reduce = *params.AsReduce();
  std::vector<bool> gone(v.perm.size(), false);
  for (int32_t& axis : reduce.axes) {
    axis = v.perm[static_cast<size_t>(axis)];
    gone[static_cast<size_t>(axis)] = true;
  }
  std::sort(reduce.axes.begin(), reduce.axes.end());
  Perm perm = v.perm;
  if (!reduce.keep_dims) {
    std::erase_if(perm, [&](int32_t p) { return gone[static_cast<size_t>(p)]; });
    for (int32_t& p : perm) p -= static_cast<int32_t>(std::count(gone.begin(), gone.begin() + p, true));
  }
  finish(op, params, {v.base}, perm);
  return true;
}

// A reshape splits and merges dimensions within groups: [N,C,H*W] from [N,C,H,W] has the groups N, C and H,W. If the
// dimensions of each group are adjacent and ordered in the base, the base is reshaped instead, group by group.
bool Sinker::sink_reshape(const Op& op) {
  const View v = view(op->inputs.front());
  const Shape in = graph_.shape(op->inputs.front()), out = graph_.shape(op->outputs.front());
  struct Group {
    std::vector<int> ins, outs;  // dimensions
    int position = 0;            // position of its first moving dimension in the base
  };
  std::vector<Group> groups;
  for (int i = 0, o = 0; i < in.rank || o < out.rank;) {
    Group g;
    int64_t have = 1, want = 1;
    const auto take_in = [&] {
      have *= in[i];
      g.ins.push_back(i++);
    };
    const auto take_out = [&] {
      want *= out[o];
      g.outs.push_back(o++);
    };
    if (i < in.rank) take_in();
    if (o < out.rank) take_out();
    while (have != want) {
      if (have < want)
        take_in();
      else
        take_out();
    }
    // Remaining ones join the previous group.
    const bool ones = have == 1 && !groups.empty();
    if (ones) {
      groups.back().ins.insert(groups.back().ins.end(), g.ins.begin(), g.ins.end());
      groups.back().outs.insert(groups.back().outs.end(), g.outs.begin(), g.outs.end());
    } else {
      groups.push_back(std::move(g));
    }
  }
  for (Group& g : groups) {
    std::vector<int> positions;
    for (const int i : g.ins)
      if (in[i] != 1) positions.push_back(v.perm[static_cast<size_t>(i)]);
    g.position =
        positions.empty() ? (g.ins.empty() ? -1 : v.perm[static_cast<size_t>(g.ins.front())]) : positions.front();
    if (!std::is_sorted(positions.begin(), positions.end())) return false;
    // Only ones may lie between them in the base.
    const Shape base = graph_.shape(v.base);
    for (size_t k = 1; k < positions.size(); ++k)
      for (int p = positions[k - 1] + 1; p < positions[k]; ++p)
        if (base[p] != 1) return false;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.position < b.position; });
  Shape base;
  Perm perm(static_cast<size_t>(out.rank));
  for (const Group& g : groups) {
    for (const int o : g.outs) {
      perm[static_cast<size_t>(o)] = base.rank;
      base[base.rank++] = out[o];
    }
  }
  fbs::ReshapeT params;
  params.shape.assign(base.dims.begin(), base.dims.begin() + base.rank);
  fbs::OpParamsUnion reshape;
  reshape.Set(params);
  finish(op, reshape, {v.base}, perm);
  return true;
}

template <typename T>
std::vector<T> reordered(const std::vector<T>& list, const Perm& perm) {
  std::vector<T> out(list.size());
  for (size_t i = 0; i < list.size(); ++i) out[static_cast<size_t>(perm[i])] = list[i];
  return out;
}

bool Sinker::sink(const Op& op) {
  const TensorId output = op->outputs.front();
  if (const auto* transpose = op->params.AsTranspose()) {
    const View v = view(op->inputs.front());
    views_[output] = {v.base, compose(v.perm, transpose->perm)};
    return true;
  }
  if (op->params.AsBinary() || op->params.AsSelect()) return sink_elementwise(op);
  if (op->params.AsConcat()) return sink_concat(op);
  const View& v = view(op->inputs.front());
  if (is_identity(v.perm)) return false;
  if (op->params.AsUnary() || op->params.AsCast()) return sink_elementwise(op);
  if (op->params.AsRequantize()) return sink_conversion(op);
  if (op->params.AsReduce()) return sink_reduce(op);
  if (op->params.AsReshape()) return sink_reshape(op);
  fbs::OpParamsUnion params = op->params;
  if (auto* pad = params.AsPad()) {
    pad->before = reordered(pad->before, v.perm);
    pad->after = reordered(pad->after, v.perm);
    if (!pad->multiple.empty()) pad->multiple = reordered(pad->multiple, v.perm);
  } else if (auto* slice = params.AsSlice()) {
    slice->begin = reordered(slice->begin, v.perm);
    slice->size = reordered(slice->size, v.perm);
  } else {
    const bool over_last = op->params.AsSoftmax() || op->params.AsLinear() || op->params.AsLayerNorm();
    if (!over_last || v.perm.back() != static_cast<int32_t>(v.perm.size()) - 1) return false;
  }
  std::vector<TensorId> inputs(op->inputs.begin(), op->inputs.end());
  inputs.front() = v.base;
  finish(op, params, inputs, Perm(v.perm));
  return true;
}

void Sinker::run() {
  std::vector<Op> ops = std::move(graph_.table.operators);
  graph_.table.operators.clear();
  for (Op& op : ops) {
    if (sink(op)) continue;
    for (TensorId& input : op->inputs) input = carried_out(input);
    graph_.table.operators.push_back(std::move(op));
  }
  for (auto& port : graph_.table.taps) port->tensor = carried_out(port->tensor);
  for (auto& port : graph_.table.outputs) {
    TensorId value = carried_out(port->tensor);
    // An output must be computed: if all transposes cancelled, copy the input.
    const auto is_value = [&](const auto& input) { return input->tensor == value; };
    if (std::any_of(graph_.table.inputs.begin(), graph_.table.inputs.end(), is_value))
      value = copied(value, graph_.shape(value));
    port->tensor = value;
  }
}

}  // namespace

void sink_transposes(Graph& graph, const PassOptions&) { Sinker(graph).run(); }

}  // namespace ferry
