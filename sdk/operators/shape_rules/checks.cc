#include "sdk/operators/shape_rules/rules.h"

#include <algorithm>
#include <limits>

namespace ferry::shape_rules {

Status check_count(const char* op, Shapes inputs, size_t minimum, size_t maximum) {
  if (inputs.size() >= minimum && inputs.size() <= maximum) return {};
  if (minimum == maximum)
    return error(FERRY_CORRUPT, "%s: takes %zu input%s, got %zu", op, minimum, minimum == 1 ? "" : "s", inputs.size());
  return error(FERRY_CORRUPT, "%s: takes %zu to %zu inputs, got %zu", op, minimum, maximum, inputs.size());
}

Status check_rank(const char* op, const char* what, const Shape& shape, int rank) {
  if (shape.rank == rank) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has rank %d, expected %d", op, what, in_words(shape).c_str(),
               shape.rank, rank);
}

Status check_image(const char* op, Shapes inputs) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  return check_rank(op, "input", inputs[0], 4);
}

Status check_parameter(const char* op, const char* what, int32_t value, int32_t minimum) {
  if (value >= minimum && value <= kMaxParameter) return {};
  return error(FERRY_CORRUPT, "%s: %s is %d, expected %d to %d", op, what, value, minimum, kMaxParameter);
}

Status check_clamp(const char* op, float low, float high) {
  if (low <= high) return {};  // false for NaN
  return error(FERRY_CORRUPT, "%s: clamps to [%g, %g], expected a minimum not above the maximum", op,
               static_cast<double>(low), static_cast<double>(high));
}

Status check_bias(const char* op, const Shape& bias, int32_t channels) {
  if (bias == Shape{channels}) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: bias %s does not fit %d output channels, expected [%d]", op,
               in_words(bias).c_str(), channels, channels);
}

Status append(const char* op, int64_t dimension, Shape* shape) {
  if (dimension < 1 || dimension > std::numeric_limits<int32_t>::max())
    return error(FERRY_SHAPE_MISMATCH, "%s: output dimension %d would be %lld, expected 1 to 2147483647", op,
                 shape->rank, static_cast<long long>(dimension));
  if (shape->rank == FERRY_MAX_RANK)
    return error(FERRY_SHAPE_MISMATCH, "%s: the output has more than %d dimensions", op, FERRY_MAX_RANK);
  (*shape)[shape->rank++] = static_cast<int32_t>(dimension);
  return {};
}

Status broadcast(const char* op, const Shape& a, const Shape& b, Shape* output) {
  const int rank = std::max(a.rank, b.rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    const int32_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s and %s do not broadcast", op, in_words(a).c_str(),
                   in_words(b).c_str());
    FERRY_TRY(append(op, std::max(da, db), output));
  }
  return {};
}

int length(const flatbuffers::Vector<int32_t>* list) { return list ? static_cast<int>(list->size()) : 0; }
int32_t at(const flatbuffers::Vector<int32_t>* list, int i) { return list->Get(static_cast<unsigned>(i)); }

Status check_length(const char* op, const char* what, const flatbuffers::Vector<int32_t>* list, const Shape& shape) {
  if (length(list) == shape.rank) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s has %d entries for input %s, expected %d", op, what, length(list),
               in_words(shape).c_str(), shape.rank);
}

}  // namespace ferry::shape_rules
