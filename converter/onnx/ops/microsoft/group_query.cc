// GroupQueryAttention: attention with fewer key heads than query heads, a cache of keys and values, and rotary position
// embeddings.
#include <algorithm>

#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

using Binary = fbs::BinaryKind;

// Inputs of the node.
struct Gqa {
  enum : size_t {
    Query,
    Key,
    Value,
    PastKey,
    PastValue,
    Lengths,  // the last position of each sample
    Total,
    Cos,
    Sin,
    Positions,
    Bias,
    Sink,
    KeyScale,
    ValueScale,
    QueryNorm,
    KeyNorm
  };
};

// Lengths of a node, for all samples.
struct Lengths {
  int64_t batch, queries;
  int64_t total;     // keys that the node sees, of the longest sample
  int64_t capacity;  // rows of the past's buffer; 0: no past
  // Rows of the past in use, Int32 [B,1]; none if all samples have total - queries of them.
  std::optional<Tensor> past;

  bool prompt() const { return queries == total; }
};

void check_attributes(Op& op) {
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (const std::string type = op.text(name, "NONE"); type != "NONE")
      op.refuse("attribute '%s' is '%s': a quantized cache is not supported", name, type.c_str());
  if (op.integer("sliding_window_cache", 0) != 0)
    op.refuse("attribute 'sliding_window_cache' is 1: a cache that drops old rows is not supported");
  if (op.has(Gqa::KeyScale) || op.has(Gqa::ValueScale)) op.refuse("a quantized cache is not supported");
  if (op.has(Gqa::PastKey) != op.has(Gqa::PastValue)) op.refuse("past_key and past_value are only allowed together");
}

Lengths read_lengths(Op& op, const Heads& h) {
  const Dims q = dims_of(h.q);
  Lengths n{q[0], q[1], q[1], 0, {}};
  if (op.has(Gqa::PastKey)) {
    const Dims past = op.dims(Gqa::PastKey);
    if (past.size() != 4 || op.dims(Gqa::PastValue) != past)
      op.refuse("past_key and past_value are %s and %s, expected four equal dimensions", to_string(past).c_str(),
                to_string(op.dims(Gqa::PastValue)).c_str());
    n.capacity = past[2];
  }
  if (op.known(Gqa::Total))
    n.total = to_integer(op.single(Gqa::Total, "total_sequence_length"));
  else if (n.capacity > 0)
    op.refuse("total_sequence_length '%s' depends on the graph's inputs, expected a constant: it determines a size",
              op.input_name(Gqa::Total).c_str());
  if (n.total < n.queries || n.total - n.queries > n.capacity)
    op.refuse("total_sequence_length is %lld for %lld tokens after a past of %lld", static_cast<long long>(n.total),
              static_cast<long long>(n.queries), static_cast<long long>(n.capacity));
  if (count_elements(op.dims(Gqa::Lengths)) != n.batch)
    op.refuse("seqlens_k is %s for %lld samples", to_string(op.dims(Gqa::Lengths)).c_str(),
              static_cast<long long>(n.batch));
  if (op.known(Gqa::Lengths)) {
    const std::vector<int64_t> last = op.array(Gqa::Lengths, "seqlens_k").ints();
    if (std::all_of(last.begin(), last.end(), [&](int64_t l) { return l == n.total - 1; })) return n;
  }
  const Tensor last = reshape_to(op.tensor(Gqa::Lengths), {n.batch, 1});
  // The first prompt begins an empty cache; its lengths say what is padding.
  n.past = n.prompt() ? last * scalar(last, 0) : last + scalar(last, 1 - static_cast<double>(n.queries));
  return n;
}

// The keys or values of sample b, [1,T,H,D]: rows of the past up to its length, then the new ones.
Tensor sample_rows(Op& op, const Lengths& n, Tensor past, Tensor fresh, int64_t b) {
  const auto sample = [&](Tensor x) { return ferry::slice(x, 0, static_cast<int>(b), 1); };
  const Tensor rows = ferry::concat({sample(past), sample(fresh)}, 1);
  const Tensor position = counted(op, 0, n.total);
  const Tensor used = reshape_to(sample(*n.past), {1});
  const Tensor behind = binary(Binary::Min, position - used + scalar(position, static_cast<double>(n.capacity)),
                               scalar(position, static_cast<double>(n.capacity + n.queries - 1)));
  const Tensor at = select(binary(Binary::Less, position, used), position, behind);
  fbs::GatherT gather;
  gather.axis = 1;
  return op.graph().add_op("", gather, {rows, at});
}

// [B,T,H,D]: the past [B,H,P,D] and the new rows [B,L,H,D].
Tensor with_past(Op& op, const Lengths& n, size_t past, Tensor fresh) {
  if (n.prompt()) return fresh;
  const Tensor before = swap_heads(op.tensor(past));
  if (!n.past) {
    const int64_t used = n.total - n.queries;
    return ferry::concat({used == n.capacity ? before : ferry::slice(before, 1, 0, static_cast<int>(used)), fresh}, 1);
  }
  std::vector<Tensor> samples;
  for (int64_t b = 0; b < n.batch; ++b) samples.push_back(sample_rows(op, n, before, fresh, b));
  return samples.size() == 1 ? samples[0] : ferry::concat(samples, 0);
}

// The cache after the run, [B,H,max(T, P),D]; rows beyond a sample's length are 0.
Tensor present(Op& op, const Lengths& n, Tensor rows) {
  if (n.past && !n.prompt()) {
    const Tensor end = reshape_to(*n.past + scalar(*n.past, static_cast<double>(n.queries)), {n.batch, 1, 1, 1});
    const Tensor used = binary(Binary::Less, reshape_to(counted(op, 0, n.total), {1, n.total, 1, 1}), end);
    rows = rows * cast_to(used, fbs::DType::Float32);
  }
  rows = swap_heads(rows);
  if (n.capacity <= n.total) return rows;
  fbs::PadT pad;
  pad.before.assign(4, 0);
  pad.after = {0, 0, to_int32({n.capacity - n.total})[0], 0};
  return op.graph().add_op("", pad, {rows});
}

// What a query sees where samples have lengths of their own: [B,1,L,T].
Tensor visible(Op& op, const Lengths& n, bool causal, int64_t window) {
  const Tensor key = reshape_to(counted(op, 0, n.total), {1, 1, 1, n.total});
  const Tensor past = reshape_to(*n.past, {n.batch, 1, 1, 1});
  if (!causal) {
    const Tensor length = reshape_to(op.tensor(Gqa::Lengths), {n.batch, 1, 1, 1});
    return bias_where(binary(Binary::LessOrEqual, key, length), -kInfinity);
  }
  const Tensor last = past + reshape_to(counted(op, 0, n.queries), {1, 1, n.queries, 1});
  Tensor seen = binary(Binary::LessOrEqual, key, last);
  if (window > 0) {
    const Tensor first = last - scalar(last, static_cast<double>(window));
    seen = binary(Binary::And, seen, binary(Binary::Less, first, key));
  }
  return bias_where(seen, -kInfinity);
}

// Positions of the new tokens, [B,L] or [1,L].
Argument positions_of(Op& op, const Lengths& n) {
  if (op.decoder() && !op.has(Gqa::Positions)) return *op.decoder()->positions;
  if (op.has(Gqa::Positions)) {
    if (op.dims(Gqa::Positions) != Dims{n.batch, n.queries})
      op.refuse("position_ids are %s, expected [%lld,%lld]", to_string(op.dims(Gqa::Positions)).c_str(),
                static_cast<long long>(n.batch), static_cast<long long>(n.queries));
    return argument(op, Gqa::Positions);
  }
  if (n.past && !n.prompt()) return *n.past + reshape_to(counted(op, 0, n.queries), {1, n.queries});
  std::vector<int64_t> rows;
  for (int64_t i = n.total - n.queries; i < n.total; ++i) rows.push_back(i);
  return make_array(Type::Int64, {1, n.queries}, rows);
}

void read_heads(Op& op, int64_t heads, int64_t kv_heads, Heads* h) {
  if (heads < 1 || kv_heads < 1) op.refuse("attributes 'num_heads' and 'kv_num_heads' are missing");
  if (op.has(Gqa::Key)) {
    h->q = split_heads(op, op.tensor(Gqa::Query), heads);
    h->k = split_heads(op, op.tensor(Gqa::Key), kv_heads);
    h->v = split_heads(op, op.tensor(Gqa::Value), kv_heads);
    return;
  }
  const Tensor packed = split_heads(op, op.tensor(Gqa::Query), heads + 2 * kv_heads);
  const auto part = [&](int64_t first, int64_t count) {
    return ferry::slice(packed, 2, static_cast<int>(first), static_cast<int>(count));
  };
  h->q = part(0, heads);
  h->k = part(heads, kv_heads);
  h->v = part(heads + kv_heads, kv_heads);
}

// Attention to the tokens of earlier runs as well: keys and values are appended to states, which have any length.
void attend_states(Op& op, const Heads& h) {
  const std::map<std::string, State>& states = op.decoder()->states;
  if (op.has(Gqa::Bias) || op.wants(3) || !h.causal || dims_of(h.q)[0] != 1)
    op.refuse("a language model's attention with a cache is causal, of one sample, without bias and scores");
  fbs::AttentionT params;
  params.heads = to_int32({dims_of(h.q)[2]})[0];
  params.kv_heads = to_int32({dims_of(h.k)[2]})[0];
  params.scale = static_cast<float>(h.scale);
  params.softcap = static_cast<float>(h.softcap);
  params.causal = true;
  params.window = to_int32({h.window})[0];
  params.sinks = h.sinks.has_value();
  std::vector<Tensor> inputs = {joined_heads(h.q),
                                ferry::append(joined_heads(h.k), states.at(op.input_name(Gqa::PastKey))),
                                ferry::append(joined_heads(h.v), states.at(op.input_name(Gqa::PastValue)))};
  if (h.sinks) inputs.push_back(*h.sinks);
  op.set(0, op.graph().add_op("", params, inputs));
  // The outputs of the cache are not read.
  for (const size_t i : {1, 2}) op.set(i, make_array(Type::Float32, {0}, std::vector<double>{}));
}

}  // namespace

void group_query_attention(Op& op) {
  check_attributes(op);
  Heads h;
  read_heads(op, op.integer("num_heads", 0), op.integer("kv_num_heads", 0), &h);
  const Lengths n = read_lengths(op, h);
  if (op.has(Gqa::QueryNorm)) {
    const Attributes norm = {{"axis", attribute(int64_t{-1})},
                             {"epsilon", attribute(op.number("qk_norm_epsilon", 1e-6))}};
    h.q = call(op, onnx::rms_normalization, {h.q, argument(op, Gqa::QueryNorm)}, norm);
    h.k = call(op, onnx::rms_normalization, {h.k, argument(op, Gqa::KeyNorm)}, norm);
  }
  if (op.integer("do_rotary", 0) != 0) {
    const Argument positions = positions_of(op, n);
    const Tensor cos = rows_at(op, Gqa::Cos, positions), sin = rows_at(op, Gqa::Sin, positions);
    const bool interleaved = op.integer("rotary_interleaved", 0) != 0;
    h.q = rotate(op, h.q, cos, sin, interleaved);
    h.k = rotate(op, h.k, cos, sin, interleaved);
  }
  const bool causal = op.integer("causal", 1) != 0;
  const int64_t window = std::max<int64_t>(op.integer("local_window_size", -1), 0), heads = dims_of(h.q)[2];
  h.scale = score_scale(op, dims_of(h.q)[3]);
  h.softcap = std::max(op.number("softcap", 0), 0.0);
  if (op.has(Gqa::Sink))
    h.sinks = op.floating(Gqa::Sink);
  else if (op.integer("smooth_softmax", 0) != 0)
    h.sinks = add_constant(op.graph(), op.node().name + ".sinks",
                           make_array(Type::Float32, {heads}, std::vector<double>(static_cast<size_t>(heads), 0.0)));
  if (n.past && (!n.prompt() || !causal)) {
    h.biases.push_back(visible(op, n, causal, window));
  } else {
    h.causal = causal;
    h.window = window;
  }
  if (op.has(Gqa::Bias)) h.biases.push_back(op.tensor(Gqa::Bias));
  if (op.decoder()) return attend_states(op, h);

  h.k = with_past(op, n, Gqa::PastKey, h.k);
  h.v = with_past(op, n, Gqa::PastValue, h.v);
  op.set(1, present(op, n, h.k));
  op.set(2, present(op, n, h.v));
  const bool wanted = op.wants(3) && op.integer("qk_output", 0) != 0;
  if (wanted && op.integer("qk_output", 0) != 2)
    op.refuse("attribute 'qk_output' is %lld, expected 2: the scores after the softmax",
              static_cast<long long>(op.integer("qk_output", 0)));
  std::optional<Tensor> scores;
  op.set(0, attend(op, h, wanted ? Scores::AfterSoftmax : Scores::None, &scores));
  if (scores) op.set(3, *scores);
}

}  // namespace ferry::onnx::microsoft
