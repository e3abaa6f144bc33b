// MultiHeadAttention, self or cross, and the relative position bias of T5.
#include <cmath>

#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

// Inputs of the node.
struct Mha {
  enum : size_t { Query, Key, Value, Bias, Mask, AttentionBias, PastKey, PastValue, PastLength, Beams };
};

// Part `i` of a packed [B,L,H,N,D] as [B,L,H,D].
Tensor packed_part(Tensor x, int i) {
  const Dims d = dims_of(x);
  return reshape_to(ferry::slice(x, 3, i, 1), {d[0], d[1], d[2], d[4]});
}

// Queries, keys and values from the inputs: separate, packed, or keys and values by head.
void read_heads(Op& op, int64_t heads, Heads* h) {
  const Dims query = op.dims(Mha::Query);
  if (query.size() == 5) {
    if (query[3] != 3) op.refuse("the packed query is %s, expected [B,L,H,3,D]", to_string(query).c_str());
    Tensor* const parts[] = {&h->q, &h->k, &h->v};
    for (int i = 0; i < 3; ++i) *parts[i] = packed_part(op.tensor(Mha::Query), i);
    return;
  }
  h->q = split_heads(op, op.tensor(Mha::Query), heads);
  const Dims key = op.dims(Mha::Key);
  if (key.size() == 5) {
    if (key[3] != 2) op.refuse("the packed key is %s, expected [B,S,H,2,D]", to_string(key).c_str());
    h->k = packed_part(op.tensor(Mha::Key), 0);
    h->v = packed_part(op.tensor(Mha::Key), 1);
  } else if (key.size() == 4) {
    h->k = swap_heads(op.tensor(Mha::Key));
    h->v = swap_heads(op.tensor(Mha::Value));
  } else {
    h->k = split_heads(op, op.tensor(Mha::Key), heads);
    h->v = split_heads(op, op.tensor(Mha::Value), heads);
  }
}

// Adds the bias of the projections, [Q+K+V], to those that are projections.
void add_projection_bias(Op& op, Heads* h) {
  const bool cross = op.rank(Mha::Query) != 5 && op.rank(Mha::Key) == 4;  // keys and values come from a cache
  int first = 0;
  Tensor* const parts[] = {&h->q, &h->k, &h->v};
  for (Tensor* part : parts) {
    const Dims d = dims_of(*part);
    const int size = static_cast<int>(d[2] * d[3]);
    if (part == &h->q || !cross)
      *part = *part + reshape_to(ferry::slice(op.tensor(Mha::Bias), 0, first, size), {1, 1, d[2], d[3]});
    first += size;
  }
}

}  // namespace

void multi_head_attention(Op& op) {
  if (op.has(Mha::PastLength) || op.has(Mha::Beams))
    op.refuse("input %d: past and present that share a buffer are not supported, expected separate values",
              static_cast<int>(op.has(Mha::PastLength) ? Mha::PastLength : Mha::Beams));
  Heads h;
  read_heads(op, op.integer("num_heads", 0), &h);
  if (op.has(Mha::Bias)) add_projection_bias(op, &h);
  if (op.has(Mha::PastKey) != op.has(Mha::PastValue)) op.refuse("past_key and past_value are only allowed together");
  if (op.has(Mha::PastKey) && count_elements(op.dims(Mha::PastKey)) > 0) {
    h.k = ferry::concat({swap_heads(op.tensor(Mha::PastKey)), h.k}, 1);
    h.v = ferry::concat({swap_heads(op.tensor(Mha::PastValue)), h.v}, 1);
  }
  op.set(1, swap_heads(h.k));
  op.set(2, swap_heads(h.v));
  const Dims q = dims_of(h.q);
  const int64_t keys = dims_of(h.k)[1];
  h.scale = score_scale(op, q[3]);
  h.causal = op.integer("unidirectional", 0) != 0;
  if (op.has(Mha::Mask)) h.biases.push_back(mask_bias(op, Mha::Mask, q[0], q[1], keys));
  if (op.has(Mha::AttentionBias)) h.biases.push_back(op.tensor(Mha::AttentionBias));
  std::optional<Tensor> scores;
  op.set(0, attend(op, h, op.wants(3) ? Scores::BeforeSoftmax : Scores::None, &scores));
  if (scores) op.set(3, *scores);
}

// [1,H,L,S] of a table [buckets,H]: half of the buckets are for distances up to half of their number, the others for
// logarithmic ranges up to max_distance (T5, Raffel et al. 2020).
void relative_position_bias(Op& op) {
  const Array& table = op.array(0, "bias_table");
  if (table.dims.size() != 2) op.refuse("bias_table is %s, expected two dimensions", to_string(table.dims).c_str());
  const int64_t queries = to_integer(op.single(1, "query_length")), keys = to_integer(op.single(2, "key_length"));
  const bool both = op.integer("is_bidirectional", 0) != 0;
  const int64_t buckets = table.dims[0] / (both ? 2 : 1), exact = buckets / 2, farthest = op.integer("max_distance", 0);
  if (exact < 1 || farthest <= exact)
    op.refuse("%lld buckets for distances up to %lld", static_cast<long long>(table.dims[0]),
              static_cast<long long>(farthest));
  const std::vector<double> values = table.floats();
  const auto heads = static_cast<size_t>(table.dims[1]);
  std::vector<double> bias(static_cast<size_t>(count_computed({table.dims[1], queries, keys})));
  for (size_t i = 0; i < bias.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t forward = at % keys - at / keys % queries;
    int64_t bucket = both && forward > 0 ? buckets : 0;
    const int64_t distance = both ? std::abs(forward) : std::max<int64_t>(-forward, 0);
    if (distance < exact) {
      bucket += distance;
    } else {
      const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                          std::log(static_cast<float>(farthest) / static_cast<float>(exact));
      bucket += std::min(exact + static_cast<int64_t>(ratio * static_cast<float>(buckets - exact)), buckets - 1);
    }
    bias[i] = values[static_cast<size_t>(bucket) * heads + i / static_cast<size_t>(queries * keys)];
  }
  op.set(make_array(table.type, {1, table.dims[1], queries, keys}, bias));
}

}  // namespace ferry::onnx::microsoft
