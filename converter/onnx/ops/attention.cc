// Attention and RotaryEmbedding, ONNX operators since opset 23.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

// Input [B,H,S,D], or [B,S,H*D] with the number of heads as an attribute, as [B,S,H,D].
Tensor tokens(Op& op, size_t input, const char* heads) {
  const Tensor x = op.tensor(input);
  const Dims dims = dims_of(x);
  if (dims.size() == 4) return ferry::transpose(x, {0, 2, 1, 3});
  const int64_t count = op.integer(heads, 0);
  if (dims.size() != 3 || count < 1 || dims[2] % count != 0)
    op.refuse("input %zu is %s, expected four dimensions, or three and attribute '%s'", input, to_string(dims).c_str(),
              heads);
  return reshape_to(x, {dims[0], dims[1], count, dims[2] / count});
}

Tensor heads_first(Tensor x) { return ferry::transpose(x, {0, 2, 1, 3}); }
Tensor joined_heads(Tensor x) {
  const Dims d = dims_of(x);
  return reshape_to(x, {d[0], d[1], d[2] * d[3]});
}

// Visible keys and additive bias: [B,H,L,S], with 1 for dimensions shared by all samples or heads.
struct Mask {
  Dims dims;
  std::vector<double> bias;  // -inf: masked
  std::vector<double> seen;  // [B,H,L]: 0 if a query has no visible key; its result is 0

  bool any() const {
    return std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
  }
  bool blind() const {
    return std::any_of(seen.begin(), seen.end(), [](double s) { return s == 0; });
  }
};

// `past`: number of keys before the first query.
Mask read_mask(Op& op, int64_t batch, int64_t queries, int64_t keys, int64_t past) {
  const Array given = op.has(3) ? op.array(3, "the mask")
                                : make_array(Type::Float32, {1, keys},
                                             std::vector<double>(static_cast<size_t>(count_computed({keys})), 0.0));
  std::vector<int64_t> lengths;  // number of valid keys per sample, if padded
  if (op.has(6)) lengths = op.array(6, "nonpad_kv_seqlen").ints();
  if (!lengths.empty() && static_cast<int64_t>(lengths.size()) != batch)
    op.refuse("nonpad_kv_seqlen has %zu values for %lld samples", lengths.size(), static_cast<long long>(batch));
  Dims from = given.dims;
  if (from.size() < 2 || from.size() > 4) op.refuse("the mask is %s", to_string(from).c_str());
  from.insert(from.begin(), 4 - from.size(), 1);
  if (from[3] > keys || (from[2] != 1 && from[2] != queries) || (from[0] != 1 && from[0] != batch))
    op.refuse("the mask is %s for %lld queries and %lld keys", to_string(given.dims).c_str(),
              static_cast<long long>(queries), static_cast<long long>(keys));
  const bool causal = op.integer("is_causal", 0) != 0;
  Mask mask{{lengths.empty() ? from[0] : batch, from[1], queries, keys}, {}, {}};
  count_computed(mask.dims);
  const std::vector<double> values = given.floats();
  for (int64_t b = 0; b < mask.dims[0]; ++b) {
    const int64_t length = lengths.empty() ? keys : lengths[static_cast<size_t>(b)];
    const int64_t before = lengths.empty() ? past : length - queries;
    for (int64_t h = 0; h < mask.dims[1]; ++h) {
      for (int64_t l = 0; l < queries; ++l) {
        const int64_t row = ((from[0] == 1 ? 0 : b) * from[1] + h) * from[2] + (from[2] == 1 ? 0 : l);
        bool sees = false;
        for (int64_t s = 0; s < keys; ++s) {
          double value = -kInfinity;
          if (s < from[3] && s < length && !(causal && s > l + before)) {
            value = values[static_cast<size_t>(row * from[3] + s)];
            if (given.type == Type::Bool) value = value != 0 ? 0 : -kInfinity;
          }
          sees = sees || value != -kInfinity;
          mask.bias.push_back(value);
        }
        if (!sees) std::fill(mask.bias.end() - keys, mask.bias.end(), 0.0);
        mask.seen.push_back(sees);
      }
    }
  }
  return mask;
}

Tensor constant(Op& op, const char* name, const Dims& dims, const std::vector<double>& values) {
  return add_constant(op.graph(), op.node().name + name, make_array(Type::Float32, dims, values));
}

// Attention with the scores as a graph value, for the score output. All inputs are [B,H,S,D]. `seen`: 0 for
// queries without visible keys.
Tensor composed(Op& op, Tensor q, Tensor k, Tensor v, double scale, std::optional<Tensor> bias,
                std::optional<Tensor> seen) {
  const int64_t heads = dims_of(q)[1], groups = dims_of(k)[1], mode = op.integer("qk_matmul_output_mode", 0);
  const double cap = op.number("softcap", 0);
  std::vector<int64_t> shared;  // query head i uses key head i / (heads / groups)
  for (int64_t i = 0; i < heads; ++i) shared.push_back(i / (heads / groups));
  if (heads != groups) {
    k = pick(op, k, 1, shared);
    v = pick(op, v, 1, shared);
  }
  Tensor scores = multiply(op, q, k, false, true) * scale;
  if (mode == 0) op.set(3, scores);
  if (cap != 0) scores = unary(scores * (1 / cap), fbs::UnaryKind::Tanh) * cap;
  if (mode == 1) op.set(3, scores);
  if (bias) scores = scores + *bias;
  if (mode == 2 && seen) op.refuse("a query has no visible key, and the masked scores are an output");
  if (mode == 2) op.set(3, scores);
  scores = ferry::softmax(scores);
  if (seen) scores = scores * *seen;
  if (mode == 3) op.set(3, scores);
  return multiply(op, scores, v);
}

}  // namespace

void attention(Op& op) {
  const Tensor q = tokens(op, 0, "q_num_heads");  // all are [B,S,H,D]
  Tensor k = tokens(op, 1, "kv_num_heads"), v = tokens(op, 2, "kv_num_heads");
  int64_t past = 0;
  if (op.has(4) != op.has(5)) op.refuse("past_key and past_value are only allowed together");
  if (op.has(4)) {
    if (op.rank(4) != 4 || op.rank(5) != 4) op.refuse("past_key and past_value have four dimensions");
    past = op.dims(4)[2];
    k = ferry::concat({heads_first(op.tensor(4)), k}, 1);
    v = ferry::concat({heads_first(op.tensor(5)), v}, 1);
  }
  op.set(1, heads_first(k));
  op.set(2, heads_first(v));
  const Dims qd = dims_of(q), kd = dims_of(k), vd = dims_of(v);
  const int64_t batch = qd[0], queries = qd[1], heads = qd[2], keys = kd[1], groups = kd[2];
  if (kd[0] != batch || vd[0] != batch || vd[1] != keys || vd[2] != groups || kd[3] != qd[3] || heads % groups != 0)
    op.refuse("attention of %s, %s and %s: they do not fit", to_string(qd).c_str(), to_string(kd).c_str(),
              to_string(vd).c_str());
  const double scale = op.number("scale", 1 / std::sqrt(static_cast<double>(qd[3])));
  const Mask mask = read_mask(op, batch, queries, keys, past);
  if (mask.dims[1] != 1 && mask.dims[1] != heads)
    op.refuse("the mask has %lld heads", static_cast<long long>(mask.dims[1]));
  std::optional<Tensor> bias;
  if (mask.any()) bias = constant(op, ".mask", mask.dims, mask.bias);
  std::optional<Tensor> seen;
  if (mask.blind()) seen = constant(op, ".seen", {mask.dims[0], mask.dims[1], queries, 1}, mask.seen);
  const bool plain = !op.wants(3);
  std::optional<Tensor> y;  // [B,L,H,E]
  if (plain) {
    fbs::AttentionT params;
    params.heads = to_int32({heads})[0];
    params.kv_heads = to_int32({groups})[0];
    params.scale = static_cast<float>(scale);
    params.softcap = static_cast<float>(op.number("softcap", 0));
    std::vector<Tensor> inputs = {joined_heads(q), joined_heads(k), joined_heads(v)};
    if (bias) inputs.push_back(*bias);
    y = reshape_to(op.graph().add_op("", params, inputs), {batch, queries, heads, vd[3]});
  } else {
    y = heads_first(composed(op, heads_first(q), heads_first(k), heads_first(v), scale, bias, seen));
  }
  if (plain && seen) y = *y * heads_first(*seen);
  op.set(op.rank(0) == 4 ? heads_first(*y) : joined_heads(*y));
}

namespace {

// Each half of a head's channels, or if `interleaved` every other one, from [B,L,1,W].
Tensor for_both_halves(Tensor table, bool interleaved) {
  const Dims d = dims_of(table);
  if (!interleaved) return ferry::concat({table, table}, 3);
  const Tensor column = reshape_to(table, {d[0], d[1], d[3], 1});
  return reshape_to(ferry::concat({column, column}, 3), {d[0], d[1], 1, 2 * d[3]});
}

// The first `rotated` channels of x [B,L,H,D] with tables of their own per sample.
Tensor rotate_samples(Op& op, Tensor x, Tensor cos, Tensor sin, bool interleaved) {
  const Dims dims = dims_of(x);
  const int64_t half = dims_of(cos)[3];
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < half; ++i) {
    first.push_back(interleaved ? 2 * i : i);
    second.push_back(interleaved ? 2 * i + 1 : half + i);
  }
  const Tensor a = pick(op, x, 3, first), b = pick(op, x, 3, second);
  const Tensor left = a * cos - b * sin, right = a * sin + b * cos;
  if (!interleaved) return ferry::concat({left, right}, 3);
  const Dims column = {dims[0], dims[1], dims[2], half, 1};
  return reshape_to(ferry::concat({reshape_to(left, column), reshape_to(right, column)}, 4),
                    {dims[0], dims[1], dims[2], 2 * half});
}

}  // namespace

Tensor rotate(Op& op, Tensor x, Tensor cos, Tensor sin, bool interleaved) {
  const Dims dims = dims_of(x), table = dims_of(cos);
  const int64_t rotated = 2 * table[3];
  if (rotated > dims[3] || (table[0] != 1 && table[0] != dims[0]) || table[1] != dims[1] || dims_of(sin) != table)
    op.refuse("caches of %s turn %lld of %lld channels", to_string(table).c_str(), static_cast<long long>(rotated),
              static_cast<long long>(dims[3]));
  const Tensor turned = rotated == dims[3] ? x : ferry::slice(x, 3, 0, static_cast<int>(rotated));
  Tensor y = turned;
  if (table[0] == 1) {
    const Dims row = {dims[1], rotated};
    const Tensor flat = reshape_to(turned, {dims[0], dims[1], dims[2] * rotated});
    y = ferry::rotary_embedding(flat, reshape_to(for_both_halves(cos, interleaved), row),
                                reshape_to(for_both_halves(sin, interleaved), row), to_int32({dims[2]})[0],
                                interleaved);
    y = reshape_to(y, {dims[0], dims[1], dims[2], rotated});
  } else {
    y = rotate_samples(op, turned, cos, sin, interleaved);
  }
  if (rotated == dims[3]) return y;
  return ferry::concat({y, ferry::slice(x, 3, static_cast<int>(rotated), static_cast<int>(dims[3] - rotated))}, 3);
}

void rotary_embedding(Op& op) {
  const Tensor x = tokens(op, 0, "num_heads");
  const Dims dims = dims_of(x);  // [B,S,H,D]
  const auto table = [&](size_t input) {
    const Array cache = op.array(input, "the cache");
    if (!op.has(3)) return cache;
    const Array& positions = op.array(3, "position_ids");
    if (cache.dims.size() != 2) op.refuse("the cache is %s, expected two dimensions", to_string(cache.dims).c_str());
    const std::vector<int64_t> rows = positions.ints();
    for (const int64_t row : rows)
      if (row < 0 || row >= cache.dims[0]) op.refuse("position %lld is outside the cache", static_cast<long long>(row));
    Dims to = positions.dims;
    to.push_back(cache.dims[1]);
    return pick(cache, 0, rows).reshaped(to);
  };
  const Array cosines = table(1), sines = table(2);
  const int64_t given = op.integer("rotary_embedding_dim", 0), rotated = given == 0 ? dims[3] : given;
  const Dims wanted = {dims[0], dims[1], rotated / 2};
  if (rotated < 2 || rotated > dims[3] || rotated % 2 != 0 || cosines.dims != wanted || sines.dims != wanted)
    op.refuse("caches of %s turn %lld of %lld channels", to_string(cosines.dims).c_str(),
              static_cast<long long>(rotated), static_cast<long long>(dims[3]));
  const Dims each = {dims[0], dims[1], 1, rotated / 2};
  const Tensor cos = add_constant(op.graph(), op.input_name(1), cosines.reshaped(each));
  const Tensor sin = add_constant(op.graph(), op.input_name(2), sines.reshaped(each));
  const Tensor y = rotate(op, x, cos, sin, op.integer("interleaved", 0) != 0);
  op.set(op.rank(0) == 4 ? heads_first(y) : joined_heads(y));
}

}  // namespace ferry::onnx
