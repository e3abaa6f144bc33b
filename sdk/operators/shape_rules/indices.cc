#include <algorithm>
#include <cmath>

#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {

Status rule(const char* op, const fbs::Cast& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.to() > fbs::DType::MAX) return error(FERRY_UNSUPPORTED, "%s: unknown type %d", op, static_cast<int>(p.to()));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Select&, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  Shape both;
  FERRY_TRY(broadcast(op, inputs[1], inputs[2], &both));
  return broadcast(op, inputs[0], both, output);
}

Status rule(const char* op, const fbs::TopK& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  if (x.rank < 1) return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  if (p.k() < 1) return error(FERRY_CORRUPT, "%s: k is %d, expected 1 or more", op, p.k());
  if (p.k() > x[x.rank - 1]) return error(FERRY_SHAPE_MISMATCH, "%s: %d elements of %d", op, p.k(), x[x.rank - 1]);
  output[0] = x;
  output[0][x.rank - 1] = p.k();
  output[1] = output[0];
  return {};
}

namespace {

Status append_all(const char* op, const Shape& from, int begin, int end, Shape* output) {
  for (int i = begin; i < end; ++i) FERRY_TRY(append(op, from[i], output));
  return {};
}

Status mismatch(const char* op, const Shape& x, const Shape& indices) {
  return error(FERRY_SHAPE_MISMATCH, "%s: indices %s do not fit input %s", op, in_words(indices).c_str(),
               in_words(x).c_str());
}

Status gathered(const char* op, fbs::GatherKind kind, int axis, const Shape& x, const Shape& indices, Shape* output) {
  if (kind > fbs::GatherKind::MAX) return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(kind));
  if (axis < 0) return error(FERRY_CORRUPT, "%s: axis is %d, expected 0 or more", op, axis);
  if (axis >= x.rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: axis %d is outside input %s", op, axis, in_words(x).c_str());
  if (kind == fbs::GatherKind::Slices) {
    FERRY_TRY(append_all(op, x, 0, axis, output));
    FERRY_TRY(append_all(op, indices, 0, indices.rank, output));
    return append_all(op, x, axis + 1, x.rank, output);
  }
  if (kind == fbs::GatherKind::Elements) {
    if (indices.rank != x.rank) return mismatch(op, x, indices);
    for (int i = 0; i < x.rank; ++i)
      if (i != axis && indices[i] > x[i]) return mismatch(op, x, indices);
    *output = indices;
    return {};
  }
  if (indices.rank < axis + 1) return mismatch(op, x, indices);
  const int depth = indices[indices.rank - 1];
  if (depth > x.rank - axis) return mismatch(op, x, indices);
  for (int i = 0; i < axis; ++i)
    if (indices[i] != x[i]) return mismatch(op, x, indices);
  FERRY_TRY(append_all(op, indices, 0, indices.rank - 1, output));
  return append_all(op, x, axis + depth, x.rank, output);
}

}  // namespace

Status rule(const char* op, const fbs::Gather& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  return gathered(op, p.kind(), p.axis(), inputs[0], inputs[1], output);
}

Status rule(const char* op, const fbs::Scatter& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  if (p.kind() > fbs::ScatterKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  Shape updates;
  FERRY_TRY(gathered(op, p.where(), p.axis(), inputs[0], inputs[1], &updates));
  if (updates != inputs[2])
    return error(FERRY_SHAPE_MISMATCH, "%s: updates %s, expected %s", op, in_words(inputs[2]).c_str(),
                 in_words(updates).c_str());
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::NonMaxSuppression& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  if (p.max_boxes() < 1) return error(FERRY_CORRUPT, "%s: max_boxes is %d, expected 1 or more", op, p.max_boxes());
  if (!(p.iou_threshold() >= 0) || std::isnan(p.score_threshold()))
    return error(FERRY_CORRUPT, "%s: thresholds are %g and %g, expected 0 or more and a number", op,
                 static_cast<double>(p.iou_threshold()), static_cast<double>(p.score_threshold()));
  const Shape &boxes = inputs[0], &scores = inputs[1];
  FERRY_TRY(check_rank(op, "boxes", boxes, 3));
  FERRY_TRY(check_rank(op, "scores", scores, 3));
  if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
    return error(FERRY_SHAPE_MISMATCH, "%s: boxes %s and scores %s, expected [N,B,4] and [N,C,B]", op,
                 in_words(boxes).c_str(), in_words(scores).c_str());
  if (int64_t{scores[0]} * scores[1] > kMaxElements / scores[2])
    return error(FERRY_SHAPE_MISMATCH, "%s: too many boxes", op);
  FERRY_TRY(append(op, int64_t{scores[0]} * scores[1] * std::min(scores[2], p.max_boxes()), output));
  return append(op, 3, output);
}

}  // namespace ferry::shape_rules
