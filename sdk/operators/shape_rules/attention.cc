#include "sdk/operators/shape_rules/rules.h"

#include <cmath>

namespace ferry::shape_rules {

Status rule(const char* op, const fbs::Attention& p, Shapes inputs, Shape* output) {
  const size_t sinks = p.sinks() ? 1 : 0;
  FERRY_TRY(check_count(op, inputs, 3 + sinks, 5 + sinks));
  FERRY_TRY(check_parameter(op, "heads", p.heads(), 1));
  FERRY_TRY(check_parameter(op, "kv_heads", p.kv_heads(), 1));
  if (p.heads() % p.kv_heads() != 0)
    return error(FERRY_CORRUPT, "%s: %d heads do not divide among %d key and value heads", op, p.heads(), p.kv_heads());
  if (!std::isfinite(p.scale()))
    return error(FERRY_CORRUPT, "%s: the scale is %g, expected a finite number", op, static_cast<double>(p.scale()));
  if (p.softcap() != 0 && !(std::isnormal(p.softcap()) && p.softcap() > 0))
    return error(FERRY_CORRUPT, "%s: the softcap is %g, expected 0 or a normal number above 0", op,
                 static_cast<double>(p.softcap()));
  const Shape &q = inputs[0], &k = inputs[1], &v = inputs[2];
  FERRY_TRY(check_rank(op, "query", q, 3));
  FERRY_TRY(check_rank(op, "key", k, 3));
  FERRY_TRY(check_rank(op, "value", v, 3));
  if (q[2] % p.heads() != 0 || v[2] % p.kv_heads() != 0 || int64_t{k[2]} * p.heads() != int64_t{q[2]} * p.kv_heads() ||
      k[0] != q[0] || v[0] != q[0] || v[1] != k[1])
    return error(FERRY_SHAPE_MISMATCH, "%s: query %s, key %s and value %s do not fit %d heads and %d of keys", op,
                 in_words(q).c_str(), in_words(k).c_str(), in_words(v).c_str(), p.heads(), p.kv_heads());
  if (p.window() < 0 || (p.window() > 0 && !p.causal()))
    return error(FERRY_CORRUPT, "%s: the window is %d, expected 0 or more, and 0 where attention is not causal", op,
                 p.window());
  if (p.causal() && q[1] > k[1])
    return error(FERRY_SHAPE_MISMATCH, "%s: causal with %d queries and %d keys, expected no more queries than keys", op,
                 q[1], k[1]);
  if (p.sinks() && inputs.back() != Shape{p.heads()})
    return error(FERRY_SHAPE_MISMATCH, "%s: sinks %s, expected one of each head, [%d]", op,
                 in_words(inputs.back()).c_str(), p.heads());
  for (const Shape& bias : inputs.subspan(3, inputs.size() - 3 - sinks)) {
    FERRY_TRY(check_rank(op, "bias", bias, 4));
    if (q[0] % bias[0] != 0 || (bias[1] != 1 && bias[1] != p.heads()) || (bias[2] != 1 && bias[2] != q[1]) ||
        bias[3] != k[1])
      return error(FERRY_SHAPE_MISMATCH, "%s: bias %s does not fit %d samples, %d heads, %d queries and %d keys", op,
                   in_words(bias).c_str(), q[0], p.heads(), q[1], k[1]);
  }
  FERRY_TRY(append(op, q[0], output));
  FERRY_TRY(append(op, q[1], output));
  return append(op, int64_t{v[2]} / p.kv_heads() * p.heads(), output);
}

Status rule(const char* op, const fbs::RotaryEmbedding& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  FERRY_TRY(check_parameter(op, "heads", p.heads(), 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_rank(op, "input", x, 3));
  if (x[2] % p.heads() != 0 || x[2] / p.heads() % 2 != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels do not divide into %d heads of an even size", op, x[2],
                 p.heads());
  const Shape table{x[1], x[2] / p.heads()};
  if (inputs[1] != table || inputs[2] != table)
    return error(FERRY_SHAPE_MISMATCH, "%s: cos %s and sin %s do not fit input %s, expected %s", op,
                 in_words(inputs[1]).c_str(), in_words(inputs[2]).c_str(), in_words(x).c_str(),
                 in_words(table).c_str());
  *output = x;
  return {};
}

}  // namespace ferry::shape_rules
