#include "sdk/operators/shape_rules/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ferry::shape_rules {

Status rule(const char* op, const fbs::Linear& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 3));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(check_rank(op, "weight", weight, 2));
  if (x.rank < 1) return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  if (x[x.rank - 1] != weight[1])
    return error(FERRY_SHAPE_MISMATCH, "%s: weight %s expects %d input channels, got %d", op, in_words(weight).c_str(),
                 weight[1], x[x.rank - 1]);
  if (inputs.size() == 3) FERRY_TRY(check_bias(op, inputs[2], weight[0]));
  *output = x;
  (*output)[x.rank - 1] = weight[0];
  return {};
}

Status rule(const char* op, const fbs::MatMul& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  Shape a = inputs[0], b = inputs[1];
  for (const Shape& x : inputs)
    if (x.rank < 2)
      return error(FERRY_SHAPE_MISMATCH, "%s: input %s has rank %d, expected at least 2", op, in_words(x).c_str(),
                   x.rank);
  a.rank -= 2;
  b.rank -= 2;
  const int32_t rows = a[a.rank + (p.transpose_a() ? 1 : 0)], depth_a = a[a.rank + (p.transpose_a() ? 0 : 1)];
  const int32_t depth_b = b[b.rank + (p.transpose_b() ? 1 : 0)], columns = b[b.rank + (p.transpose_b() ? 0 : 1)];
  if (depth_a != depth_b)
    return error(FERRY_SHAPE_MISMATCH, "%s: %s%s and %s%s have inner dimensions %d and %d, expected equal ones", op,
                 in_words(inputs[0]).c_str(), p.transpose_a() ? " transposed" : "", in_words(inputs[1]).c_str(),
                 p.transpose_b() ? " transposed" : "", depth_a, depth_b);
  FERRY_TRY(broadcast(op, a, b, output));
  FERRY_TRY(append(op, rows, output));
  return append(op, columns, output);
}

Status rule(const char* op, const fbs::Experts& p, Shapes inputs, Shape* output) {
  if (inputs.size() != 7) FERRY_TRY(check_count(op, inputs, 5, 5));  // with biases, or without
  if (p.activation() > fbs::ExpertsActivation::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown activation %d", op, static_cast<int>(p.activation()));
  if (!std::isfinite(p.alpha()) || !(p.limit() > 0))
    return error(FERRY_CORRUPT, "%s: limit is %g and alpha %g, expected one above 0 and a finite number", op,
                 static_cast<double>(p.limit()), static_cast<double>(p.alpha()));
  const Shape &x = inputs[0], &chosen = inputs[1], &gate_up = inputs[3], &down = inputs[4];
  FERRY_TRY(check_rank(op, "gate_up", gate_up, 3));
  FERRY_TRY(check_rank(op, "down", down, 3));
  if (x.rank < 1) return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  if (gate_up[0] != down[0] || gate_up[1] % 2 != 0 || gate_up[1] / 2 != down[2] || gate_up[2] != down[1] ||
      down[1] != x[x.rank - 1])
    return error(FERRY_SHAPE_MISMATCH,
                 "%s: gate_up %s and down %s do not fit %d channels, expected [E,2*H,C] and [E,C,H]", op,
                 in_words(gate_up).c_str(), in_words(down).c_str(), x[x.rank - 1]);
  Shape places = x;
  if (chosen.rank > 0) places[x.rank - 1] = chosen[chosen.rank - 1];
  if (chosen != places || inputs[2] != places)
    return error(FERRY_SHAPE_MISMATCH, "%s: chosen %s and shares %s do not fit input %s", op, in_words(chosen).c_str(),
                 in_words(inputs[2]).c_str(), in_words(x).c_str());
  const int64_t rows = chosen.elements();
  if (rows > std::numeric_limits<int32_t>::max() || rows > kMaxElements / down[2])
    return error(FERRY_SHAPE_MISMATCH,
                 "%s: %lld rows of %d hidden channels, expected at most 2^31 rows and " FERRY_MAX_ELEMENTS " elements",
                 op, static_cast<long long>(rows), down[2]);
  *output = x;
  if (inputs.size() == 5) return {};
  const Shape up{gate_up[0], gate_up[1]}, back{down[0], down[1]};
  if (inputs[5] != up || inputs[6] != back)
    return error(FERRY_SHAPE_MISMATCH, "%s: biases %s and %s, expected %s and %s", op, in_words(inputs[5]).c_str(),
                 in_words(inputs[6]).c_str(), in_words(up).c_str(), in_words(back).c_str());
  return {};
}

Status rule(const char* op, const fbs::Unary& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.kind() > fbs::UnaryKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  if (p.kind() == fbs::UnaryKind::Clamp) FERRY_TRY(check_clamp(op, p.alpha(), p.beta()));
  if (p.kind() == fbs::UnaryKind::LeakyRelu && !std::isfinite(p.alpha()))
    return error(FERRY_CORRUPT, "%s: the slope of a leaky ReLU is %g, expected a finite number", op,
                 static_cast<double>(p.alpha()));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Requantize& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.to() != fbs::DType::Int8 && p.to() != fbs::DType::Float32)
    return error(FERRY_UNSUPPORTED, "%s: to type %s, expected Int8 or Float32", op, EnumNameDType(p.to()));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Lookup&, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  if (inputs[1] != Shape{256})
    return error(FERRY_SHAPE_MISMATCH, "%s: a table of %s, expected [256]", op, in_words(inputs[1]).c_str());
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Binary& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  if (p.kind() > fbs::BinaryKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  return broadcast(op, inputs[0], inputs[1], output);
}

Status rule(const char* op, const fbs::Reduce& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.kind() > fbs::ReduceKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  const Shape& x = inputs[0];
  const int count = length(p.axes());
  if (count == 0) return error(FERRY_CORRUPT, "%s: no axes, expected at least one", op);
  std::array<bool, FERRY_MAX_RANK> reduced{};
  for (int i = 0; i < count; ++i) {
    const int32_t axis = at(p.axes(), i);
    if (axis < 0 || (i > 0 && axis <= at(p.axes(), i - 1)))
      return error(FERRY_CORRUPT, "%s: axis %d is out of order, expected ascending axes from 0", op, axis);
    if (axis >= x.rank)
      return error(FERRY_SHAPE_MISMATCH, "%s: axis %d is outside input %s", op, axis, in_words(x).c_str());
    reduced[static_cast<size_t>(axis)] = true;
  }
  for (int i = 0; i < x.rank; ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      FERRY_TRY(append(op, x[i], output));
    } else if (p.keep_dims()) {
      FERRY_TRY(append(op, 1, output));
    }
  }
  return {};
}

Status rule(const char* op, const fbs::Softmax&, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (inputs[0].rank < 1)
    return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  *output = inputs[0];
  return {};
}

}  // namespace ferry::shape_rules
