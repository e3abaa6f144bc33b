#include "sdk/operators/shape_rules/rules.h"

#include <cmath>

namespace ferry::shape_rules {

namespace {

// Checks x of at least rank `rank`, and a weight and a bias with one element per channel.
Status check_norm(const char* op, float epsilon, Shapes inputs, int rank) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  if (!(epsilon >= 0) || !std::isfinite(epsilon))
    return error(FERRY_CORRUPT, "%s: epsilon is %g, expected a finite number from 0", op, static_cast<double>(epsilon));
  const Shape& x = inputs[0];
  if (x.rank < rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: input %s has rank %d, expected %d or more", op, in_words(x).c_str(), x.rank,
                 rank);
  const Shape channels{x[x.rank - 1]};
  if (inputs[1] == channels && inputs[2] == channels) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: weight %s and bias %s do not fit %d channels", op,
               in_words(inputs[1]).c_str(), in_words(inputs[2]).c_str(), channels[0]);
}

}  // namespace

Status rule(const char* op, const fbs::LayerNorm& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 1));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::GroupNorm& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 2));
  FERRY_TRY(check_parameter(op, "groups", p.groups(), 1));
  const Shape& x = inputs[0];
  if (x[x.rank - 1] % p.groups() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels do not divide into %d groups", op, x[x.rank - 1], p.groups());
  *output = x;
  return {};
}

Status rule(const char* op, const fbs::Grn& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 4));
  FERRY_TRY(check_rank(op, "input", inputs[0], 4));
  *output = inputs[0];
  return {};
}

}  // namespace ferry::shape_rules
