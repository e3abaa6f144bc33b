// x * cos + rotated(x) * sin, with a head's channels rotated by halves, (-second, first), or in pairs, (-x1, x0, -x3,
// x2...). x is N,heads,L,D or N,L,heads,D; cos and sin are the same for all samples and heads.
#include <array>

#include "converter/graph/ops.h"
#include "converter/onnx/patterns/graph_matcher.h"

namespace ferry::onnx {
namespace {

struct Rotated {
  TensorId x;
  bool interleaved;
};

// The tensor of which `tensor` is the slice [begin, begin + size) of the last of `rank` dimensions.
std::optional<TensorId> part(const GraphMatcher& m, TensorId tensor, int begin, int size) {
  const fbs::OperatorT* slice = m.producer(tensor, fbs::OpParams::Slice);
  if (!slice) return {};
  const Shape from = m.shape(slice->inputs.front()), to = m.shape(tensor);
  const int last = from.rank - 1;
  if (slice->params.AsSlice()->begin.back() != begin || to[last] != size) return {};
  for (int i = 0; i < last; ++i)
    if (from[i] != to[i]) return {};
  return slice->inputs.front();
}

std::optional<Rotated> rotated(const GraphMatcher& m, TensorId tensor) {
  const Shape shape = m.shape(tensor);
  if (shape.rank == 0) return {};
  const int size = shape[shape.rank - 1];
  const fbs::OperatorT* concat = m.producer(m.before_reshapes(tensor), fbs::OpParams::Concat);
  if (!concat || concat->inputs.size() != 2) return {};
  const int rank = m.shape(concat->outputs.front()).rank;
  if (concat->params.AsConcat()->axis != rank - 1 || size % 2 != 0) return {};
  const fbs::OperatorT* neg = m.producer(m.before_reshapes(concat->inputs[0]), fbs::OpParams::Unary);
  if (!neg || neg->params.AsUnary()->kind != fbs::UnaryKind::Neg) return {};
  const TensorId second = m.before_reshapes(neg->inputs.front()), first = m.before_reshapes(concat->inputs[1]);
  const bool interleaved = rank == shape.rank + 1;
  const int each = interleaved ? 1 : size / 2;
  const auto a = part(m, first, 0, each), b = part(m, second, each, each);
  if (!a || a != b) {
    // Pairs have a reshape for each slice.
    if (!interleaved || !a || !b || m.before_reshapes(*a) != m.before_reshapes(*b)) return {};
  }
  const auto x = m.reshaped_from(*a, shape);
  if (!x || (interleaved && m.shape(*a)[shape.rank] != 2)) return {};
  return Rotated{*x, interleaved};
}

// The operands of a product.
std::optional<std::array<TensorId, 2>> factors(const GraphMatcher& m, TensorId tensor) {
  const fbs::OperatorT* op = m.producer(tensor, fbs::OpParams::Binary);
  if (!op || op->params.AsBinary()->kind != fbs::BinaryKind::Mul) return {};
  return std::array{op->inputs[0], op->inputs[1]};
}

// x, and what it and its rotation are multiplied with.
struct Turned {
  Rotated of;
  TensorId cos, sin;
};

std::optional<Turned> turned(const GraphMatcher& m, TensorId plain, TensorId other) {
  const auto a = factors(m, plain), b = factors(m, other);
  if (!a || !b) return {};
  for (const size_t i : {0, 1})
    for (const size_t j : {0, 1})
      if (const auto rotation = rotated(m, (*b)[j]); rotation && rotation->x == (*a)[i])
        return Turned{*rotation, (*a)[1 - i], (*b)[1 - j]};
  return {};
}

// `values` as [L,D], if there is exactly one per position and channel; positions are dimension `axis` of 4.
std::optional<Tensor> table(GraphMatcher& m, TensorId values, int axis, int length, int channels) {
  Shape wanted{1, 1, 1, channels}, given = m.shape(values);
  if (given.rank > 4) return {};
  wanted[axis] = length;
  for (int i = 0; i < given.rank; ++i)
    if (given[given.rank - 1 - i] != wanted[3 - i]) return {};
  if (given.elements() != int64_t{length} * channels) return {};
  if (!m.graph().is_constant(values)) return reshape(m.tensor(values), {length, channels});
  return m.graph().add_constant(m.graph().at(values).name, Shape{length, channels}, m.graph().values(values));
}

}  // namespace

void recognise_rotary_embedding(GraphMatcher& m) {
  for (size_t i = 0; i < m.size(); ++i) {
    const auto* sum = m.at(i).params.AsBinary();
    if (!sum || sum->kind != fbs::BinaryKind::Add) continue;
    for (const size_t side : {0, 1}) {
      const auto found = turned(m, m.at(i).inputs[side], m.at(i).inputs[1 - side]);
      if (!found || m.shape(found->of.x).rank != 4) continue;
      const Shape d = m.shape(found->of.x);
      // Positions are dimension 2 or 1, whichever the tables fit.
      for (const int axis : {2, 1}) {
        const auto cos = table(m, found->cos, axis, d[axis], d[3]), sin = table(m, found->sin, axis, d[axis], d[3]);
        if (!cos || !sin) continue;
        const Tensor x = m.tensor(found->of.x);
        const int heads = d[3 - axis];
        const Tensor rows = reshape(axis == 2 ? transpose(x, {0, 2, 1, 3}) : x, {d[0], d[axis], heads * d[3]});
        const Tensor y =
            reshape(rotary_embedding(rows, *cos, *sin, heads, found->of.interleaved), {d[0], d[axis], heads, d[3]});
        fbs::TransposeT back;
        back.perm = axis == 2 ? std::vector<int32_t>{0, 2, 1, 3} : std::vector<int32_t>{0, 1, 2, 3};
        m.rewrite(i, back, {y});
        break;
      }
      break;
    }
  }
}

}  // namespace ferry::onnx
