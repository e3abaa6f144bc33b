#include "sdk/operators/shape_rules/rules.h"
#include "sdk/operators/size_code.h"

#include <array>
#include <limits>

namespace ferry::shape_rules {

Status rule(const char* op, const fbs::Concat& p, Shapes inputs, Shape* output) {
  if (inputs.empty()) return error(FERRY_CORRUPT, "%s: takes at least 1 input, got 0", op);
  const Shape& first = inputs[0];
  if (p.axis() < 0) return error(FERRY_CORRUPT, "%s: axis is %d, expected 0 or more", op, p.axis());
  if (p.axis() >= first.rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: axis %d is outside input %s", op, p.axis(), in_words(first).c_str());
  int64_t total = 0;
  for (const Shape& x : inputs) {
    Shape aligned = x;
    if (x.rank == first.rank) aligned[p.axis()] = first[p.axis()];
    if (aligned != first)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s does not join %s along axis %d", op, in_words(x).c_str(),
                   in_words(first).c_str(), p.axis());
    total += x[p.axis()];  // at most 2^31 inputs of 2^31
  }
  for (int i = 0; i < first.rank; ++i) FERRY_TRY(append(op, i == p.axis() ? total : first[i], output));
  return {};
}

Status rule(const char* op, const fbs::PixelShuffle& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_parameter(op, "factor", p.factor(), 1));
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  const int64_t factor = p.factor();
  if (x[3] % (factor * factor) != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels are not a multiple of %lld, the factor's square", op, x[3],
                 static_cast<long long>(factor * factor));
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(append(op, x[1] * factor, output));
  FERRY_TRY(append(op, x[2] * factor, output));
  return append(op, x[3] / (factor * factor), output);
}

namespace {

// Resolves a size that refers to a dimension of the optional second input.
Status resolve_size(const char* op, Shapes inputs, int32_t* size) {
  FERRY_TRY(check_count(op, inputs, 1, 2));
  if (*size >= -1) return {};
  const SizeCode code = SizeCode::decode(*size);
  if (inputs.size() < 2 || code.dim >= inputs[1].rank)
    return error(FERRY_CORRUPT, "%s: a size refers to dimension %d of a second input, which is missing", op, code.dim);
  *size = code.of(inputs[1][code.dim]);
  if (*size > 0) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: a size is dimension %d of %s divided by %d, which is 0", op, code.dim,
               in_words(inputs[1]).c_str(), code.divisor);
}

}  // namespace

Status rule(const char* op, const fbs::Resize2d& p, Shapes inputs, Shape* output) {
  if (p.kind() > fbs::ResizeKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  FERRY_TRY(check_parameter(op, "scale_h", p.scale_h(), 1));
  FERRY_TRY(check_parameter(op, "scale_w", p.scale_w(), 1));
  int32_t height = p.height(), width = p.width();
  FERRY_TRY(resolve_size(op, inputs, &height));
  FERRY_TRY(resolve_size(op, inputs, &width));
  FERRY_TRY(check_parameter(op, "height", height, 0));
  FERRY_TRY(check_parameter(op, "width", width, 0));
  FERRY_TRY(check_rank(op, "input", inputs[0], 4));
  const Shape& x = inputs[0];
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(append(op, height > 0 ? int64_t{height} : int64_t{x[1]} * p.scale_h(), output));
  FERRY_TRY(append(op, width > 0 ? int64_t{width} : int64_t{x[2]} * p.scale_w(), output));
  return append(op, x[3], output);
}

Status rule(const char* op, const fbs::Pad& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "before", p.before(), x));
  FERRY_TRY(check_length(op, "after", p.after(), x));
  if (p.multiple() != nullptr) FERRY_TRY(check_length(op, "multiple", p.multiple(), x));
  for (int i = 0; i < x.rank; ++i) {
    FERRY_TRY(check_parameter(op, "an entry of before", at(p.before(), i), 0));
    FERRY_TRY(check_parameter(op, "an entry of after", at(p.after(), i), 0));
    int64_t size = int64_t{x[i]} + at(p.before(), i) + at(p.after(), i);
    if (p.multiple() != nullptr) {
      FERRY_TRY(check_parameter(op, "an entry of multiple", at(p.multiple(), i), 1));
      const int64_t multiple = at(p.multiple(), i);
      size = (size + multiple - 1) / multiple * multiple;
    }
    FERRY_TRY(append(op, size, output));
  }
  return {};
}

Status rule(const char* op, const fbs::Reshape& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 2));
  const Shape& x = inputs[0];
  int inferred = -1;
  int64_t known = 1;  // never above kMaxElements + 1
  for (int i = 0; i < length(p.shape()); ++i) {
    int32_t d = at(p.shape(), i);
    FERRY_TRY(resolve_size(op, inputs, &d));
    if (d == -1 && inferred >= 0)
      return error(FERRY_CORRUPT, "%s: dimensions %d and %d are both -1, expected at most one", op, inferred, i);
    if (d == 0) {
      if (i >= x.rank)
        return error(FERRY_SHAPE_MISMATCH, "%s: dimension %d copies the input's, but the input is %s", op, i,
                     in_words(x).c_str());
      d = x[i];
    }
    if (d == -1) {
      inferred = i;
      d = 1;
    }
    FERRY_TRY(append(op, d, output));
    known = known > kMaxElements / d ? kMaxElements + 1 : known * d;
  }
  const int64_t elements = x.elements();
  if (inferred >= 0 && elements % known == 0) {
    const int64_t d = elements / known;
    if (d <= std::numeric_limits<int32_t>::max()) {
      (*output)[inferred] = static_cast<int32_t>(d);
      known *= d;
    }
  }
  if (known != elements)
    return error(FERRY_SHAPE_MISMATCH, "%s: %s does not hold the %lld elements of %s", op, in_words(*output).c_str(),
                 static_cast<long long>(elements), in_words(x).c_str());
  return {};
}

Status rule(const char* op, const fbs::Transpose& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "perm", p.perm(), x));
  std::array<bool, FERRY_MAX_RANK> seen{};
  for (int i = 0; i < x.rank; ++i) {
    const int32_t axis = at(p.perm(), i);
    if (axis < 0 || axis >= x.rank || seen[static_cast<size_t>(axis)])
      return error(FERRY_CORRUPT, "%s: perm has %d at %d, expected each of 0 to %d once", op, axis, i, x.rank - 1);
    seen[static_cast<size_t>(axis)] = true;
    FERRY_TRY(append(op, x[axis], output));
  }
  return {};
}

Status rule(const char* op, const fbs::Slice& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 2));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "begin", p.begin(), x));
  FERRY_TRY(check_length(op, "size", p.size(), x));
  for (int i = 0; i < x.rank; ++i) {
    int32_t given = at(p.size(), i);
    const int64_t left = is_all_but(given) ? int64_t{given} - kAllBut : 0;
    if (is_all_but(given)) given = -1;
    FERRY_TRY(resolve_size(op, inputs, &given));
    int64_t size = given;
    if (size == 0) return error(FERRY_CORRUPT, "%s: dimension %d has size 0, expected another", op, i);
    const int64_t begin = slice_begin(p, i, x, size);
    if (size == -1) size = x[i] - begin - left;
    if (begin < 0 || size < 1 || begin + size > x[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: elements %lld to %lld of dimension %d are outside input %s", op,
                   static_cast<long long>(begin), static_cast<long long>(begin + size), i, in_words(x).c_str());
    FERRY_TRY(append(op, size, output));
  }
  return {};
}

namespace {

template <typename Params>
Status check_windows(const char* op, const Params& p, int32_t height, int32_t width) {
  FERRY_TRY(check_parameter(op, "window_h", p.window_h(), 1));
  FERRY_TRY(check_parameter(op, "window_w", p.window_w(), 1));
  FERRY_TRY(check_parameter(op, "shift_h", p.shift_h(), 0));
  FERRY_TRY(check_parameter(op, "shift_w", p.shift_w(), 0));
  if (p.shift_h() >= p.window_h() || p.shift_w() >= p.window_w())
    return error(FERRY_CORRUPT, "%s: a shift of %dx%d is not below the window, %dx%d", op, p.shift_h(), p.shift_w(),
                 p.window_h(), p.window_w());
  if (height % p.window_h() != 0 || width % p.window_w() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %dx%d does not divide into windows of %dx%d", op, height, width,
                 p.window_h(), p.window_w());
  return {};
}

}  // namespace

Status rule(const char* op, const fbs::WindowPartition& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  FERRY_TRY(check_windows(op, p, x[1], x[2]));
  FERRY_TRY(append(op, int64_t{x[0]} * (x[1] / p.window_h()) * (x[2] / p.window_w()), output));
  FERRY_TRY(append(op, int64_t{p.window_h()} * p.window_w(), output));
  return append(op, x[3], output);
}

Status rule(const char* op, const fbs::WindowReverse& p, Shapes inputs, Shape* output) {
  int32_t height = p.height(), width = p.width();
  FERRY_TRY(resolve_size(op, inputs, &height));
  FERRY_TRY(resolve_size(op, inputs, &width));
  FERRY_TRY(check_parameter(op, "height", height, 1));
  FERRY_TRY(check_parameter(op, "width", width, 1));
  FERRY_TRY(check_windows(op, p, height, width));
  const Shape& x = inputs[0];
  FERRY_TRY(check_rank(op, "input", x, 3));
  const int64_t windows = int64_t{height / p.window_h()} * (width / p.window_w());
  if (x[0] % windows != 0 || x[1] != int64_t{p.window_h()} * p.window_w())
    return error(FERRY_SHAPE_MISMATCH, "%s: %s does not hold images of %dx%d in windows of %dx%d", op,
                 in_words(x).c_str(), height, width, p.window_h(), p.window_w());
  FERRY_TRY(append(op, x[0] / windows, output));
  FERRY_TRY(append(op, height, output));
  FERRY_TRY(append(op, width, output));
  return append(op, x[2], output);
}

}  // namespace ferry::shape_rules
