#include "models/language/experts.h"

#include <algorithm>

#include "converter/error.h"

namespace ferry::language {
namespace {

// Top-k over the last dimension: indices and values.
struct TopK {
  Tensor indices, values;
};

TopK top_k(Tensor x, int k) {
  fbs::TopKT params;
  params.k = k;
  const std::vector<Tensor> both = x.graph->add_op_with_outputs("", params, {x}, 2);
  return {both[0], both[1]};
}

Tensor gather_elements(Tensor x, Tensor indices) {
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Elements;
  params.axis = x.shape().rank - 1;
  return x.graph->add_op("", params, {x, indices});
}

// Over the last dimension, kept as 1.
Tensor sum(Tensor x) {
  fbs::ReduceT params;
  params.kind = fbs::ReduceKind::Sum;
  params.axes = {x.shape().rank - 1};
  params.keep_dims = true;
  return x.graph->add_op("", params, {x});
}

Tensor divide(Tensor a, Tensor b) {
  fbs::BinaryT params;
  params.kind = fbs::BinaryKind::Div;
  return a.graph->add_op("", params, {a, b});
}

// Group-limited routing: lowers `scores` [L,E] outside of the best groups, so that top-k never selects these experts.
Tensor mask_other_groups(Tensor scores, const Router& r) {
  constexpr double kMasked = -1e30;
  const int experts = channels(scores), size = experts / r.groups;
  const Tensor grouped = reshape(scores, {-1, r.groups, size});
  const Tensor groups = reshape(sum(top_k(grouped, 2).values), {-1, r.groups});
  const TopK best = top_k(groups, r.top_k_groups);
  fbs::ScatterT params;
  params.axis = 1;
  const Tensor penalty = scores.graph->add_op("", params, {groups * 0.0 + kMasked, best.indices, best.values * 0.0});
  return reshape(grouped + reshape(penalty, {-1, r.groups, 1}), {-1, experts});
}

struct Routing {
  Tensor top_k, weights;  // [L,k] each
};

Routing route(Tensor x, const Weights& w, const Experts& e) {
  const Router& r = e.router;
  const Weights gate = w[r.name];
  // A product of two tensors instead of a linear layer, so that --weights does not quantize it: a wrong choice of
  // experts costs more than these bytes.
  Tensor scores = matmul(x, gate("weight", {e.count, channels(x)}), false, /*transpose_b=*/true);
  if (r.bias) scores = scores + gate("bias", {e.count});
  tap(scores, gate);
  if (r.scores == Router::Scores::Softmax) scores = softmax(scores);
  if (r.scores == Router::Scores::Sigmoid) scores = sigmoid(scores);
  Tensor ranked = scores;
  if (r.score_correction) ranked = ranked + gate("e_score_correction_bias", {e.count});
  if (r.groups > 1) ranked = mask_other_groups(ranked, r);
  const TopK best = top_k(ranked, e.top_k);
  Tensor weights = ranked.id == scores.id ? best.values : gather_elements(scores, best.indices);
  if (r.scores == Router::Scores::SoftmaxOfTopK) weights = softmax(weights);
  if (r.normalized) weights = divide(weights, sum(weights) + 1e-20);  // transformers guards against a sum of 0
  if (r.scale != 1) weights = weights * r.scale;
  return {best.indices, weights};
}

// Concatenates constants into one of shape `shape`.
Tensor stacked(const std::string& name, const std::vector<Tensor>& parts, const Shape& shape) {
  Graph& graph = *parts.front().graph;
  const fbs::DType type = graph.at(parts.front().id).dtype;
  Constant all;
  std::vector<Constant> sources;
  for (const Tensor& part : parts) {
    if (graph.at(part.id).dtype != type) fail("'%s': experts are stored in different types", name.c_str());
    sources.push_back(graph.source(part.id));
    all.size += sources.back().byte_count();
    all.part_unit = sources.back().part_unit;
  }
  all.compute = [sources, size = all.size] {
    std::vector<std::byte> bytes;
    bytes.reserve(size);
    for (const Constant& source : sources) {
      const Constant part = source.read();
      bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
      if (part.done) part.done();
    }
    return hold(std::move(bytes));
  };
  all.compute_part = [sources](size_t begin, size_t size) {
    std::vector<std::byte> bytes;
    bytes.reserve(size);
    for (const Constant& source : sources) {
      const size_t count = source.byte_count();
      if (begin < count && bytes.size() < size) {
        const Constant part = source.read_part(begin, std::min(count - begin, size - bytes.size()));
        bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
        if (part.done) part.done();
        begin = 0;
      } else if (begin >= count) {
        begin -= count;
      }
    }
    return hold(std::move(bytes));
  };
  return graph.add_constant(name, type, shape, std::move(all));
}

struct Stacks {
  Tensor gate_up, down;  // [E,2*H,C], [E,C,H]
  std::vector<Tensor> biases;
};

Stacks one_by_one(const Weights& w, const Experts& e, int width) {
  std::vector<Tensor> gate_up, down, gate_up_bias, down_bias;
  for (int i = 0; i < e.count; ++i) {
    gate_up.push_back(w[i]["gate_proj"].matrix({e.hidden, width}));
    gate_up.push_back(w[i]["up_proj"].matrix({e.hidden, width}));
    down.push_back(w[i]["down_proj"].matrix({width, e.hidden}));
    if (!e.bias) continue;
    gate_up_bias.push_back(w[i]["gate_proj"]("bias", {e.hidden}));
    gate_up_bias.push_back(w[i]["up_proj"]("bias", {e.hidden}));
    down_bias.push_back(w[i]["down_proj"]("bias", {width}));
  }
  Stacks out{stacked(w.name() + ".gate_up_proj", gate_up, {e.count, 2 * e.hidden, width}),
             stacked(w.name() + ".down_proj", down, {e.count, width, e.hidden}),
             {}};
  if (e.bias)
    out.biases = {stacked(w.name() + ".gate_up_proj_bias", gate_up_bias, {e.count, 2 * e.hidden}),
                  stacked(w.name() + ".down_proj_bias", down_bias, {e.count, width})};
  return out;
}

// One row per output (transformers 5), or one column per output (the published Qwen3-VL).
Stacks all_in_one(const Weights& w, const Experts& e, int width) {
  const Shape up{e.count, 2 * e.hidden, width}, down{e.count, width, e.hidden};
  const Shape up_columns{up[0], up[2], up[1]}, down_columns{down[0], down[2], down[1]};
  // If one of the two shapes is square, the other one decides.
  const bool columns = w.stored_shape("gate_up_proj") == up_columns && w.stored_shape("down_proj") == down_columns;
  const auto read = [&](const char* leaf, const Shape& shape, const Shape& turned) {
    return columns ? w.reordered(leaf, {turned, turned, {0, 2, 1}, shape}) : w(leaf, shape);
  };
  return {read("gate_up_proj", up, up_columns), read("down_proj", down, down_columns), {}};
}

// GPT-OSS: one column per output, gate and up interleaved; stored as MXFP4, one row per output.
Stacks interleaved(const Weights& w, const Experts& e, int width) {
  const int count = e.count, hidden = e.hidden;
  const Shape up{count, 2 * hidden, width}, down{count, width, hidden};
  const Shape up_columns{count, width, 2 * hidden}, down_columns{count, hidden, width};
  Stacks out;
  if (w.has("gate_up_proj_blocks")) {
    out.gate_up = w.reordered_mxfp4("gate_up_proj", {up, {count, hidden, 2, width}, {0, 2, 1, 3}, up});
    out.down = w.reordered_mxfp4("down_proj", {down, down, {0, 1, 2}, down});
  } else {
    out.gate_up = w.reordered("gate_up_proj", {up_columns, {count, width, hidden, 2}, {0, 3, 2, 1}, up});
    out.down = w.reordered("down_proj", {down_columns, down_columns, {0, 2, 1}, down});
  }
  const Shape biases{count, 2 * hidden};
  if (e.bias)
    out.biases = {w.reordered("gate_up_proj_bias", {biases, {count, hidden, 2}, {0, 2, 1}, biases}),
                  w("down_proj_bias", {count, width})};
  return out;
}

}  // namespace

Tensor mixture(Tensor x, const Weights& w, const Experts& e) {
  const int width = channels(x);
  const Weights inner = w["experts"];
  const Tensor rows = reshape(x, {-1, width});
  const Routing choice = route(rows, w, e);
  const bool each = inner[0]["gate_proj"].has("weight");
  const Stacks stacks = each            ? one_by_one(inner, e, width)
                        : e.interleaved ? interleaved(inner, e, width)
                                        : all_in_one(inner, e, width);
  const Tensor y =
      tap(experts(rows, choice.top_k, choice.weights, stacks.gate_up, stacks.down, e.options, stacks.biases), inner);
  return reshape(y, {1, -1, width});
}

Experts experts_of(const Configuration& s, const char* count_name, int count, int top_k) {
  Experts e{};
  e.count = s.count(count_name, count);
  e.top_k = s.count("num_experts_per_tok", top_k);
  if (e.top_k > e.count) fail("%s: num_experts_per_tok is %d, but there are %d experts", s.where(), e.top_k, e.count);
  return e;
}

fbs::ExpertsActivation experts_activation(const Configuration& s, const std::string& name) {
  if (name == "silu" || name == "swish") return fbs::ExpertsActivation::Silu;
  if (name == "gelu_pytorch_tanh") return fbs::ExpertsActivation::GeluTanh;
  fail("%s: the experts' activation is '%s', expected silu or gelu_pytorch_tanh", s.where(), name.c_str());
}

}  // namespace ferry::language
