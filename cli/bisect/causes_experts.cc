#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"

namespace ferry::bisect {
namespace {

// The operator of the piece that computes `tensor`; nullopt if it comes from outside.
std::optional<size_t> writer_of(const Piece& piece, TensorId tensor) {
  for (size_t i = 0; i < piece.operators.size(); ++i)
    if (piece.operators[i].outputs.front() == tensor) return i;
  return {};
}

bool is_binary(const fbs::OperatorT& op, fbs::BinaryKind kind) {
  return op.params.type == fbs::OpParams::Binary && op.params.AsBinary()->kind == kind;
}

constexpr const char* kNotNormalized = "the router's weights are not divided by their sum and should be";
constexpr const char* kNormalized = "the router's weights are divided by their sum and should not be";

// The operator that divides `shares` by their sum, if they are normalized.
std::optional<size_t> normalization_of(const Piece& piece, TensorId shares) {
  auto op = writer_of(piece, shares);
  while (op && is_binary(piece.operators[*op], fbs::BinaryKind::Mul) &&
         piece.is_constant(piece.operators[*op].inputs[1]))
    op = writer_of(piece, piece.operators[*op].inputs[0]);
  if (!op || !is_binary(piece.operators[*op], fbs::BinaryKind::Div) ||
      piece.is_constant(piece.operators[*op].inputs[1]))
    return {};
  return op;
}

// Divides `shares` by their sum.
void normalize(Piece& piece, size_t k) {
  const TensorId shares = piece.operators[k].inputs[2];
  Edit edit(piece, k);
  fbs::ReduceT sum;
  sum.kind = fbs::ReduceKind::Sum;
  sum.keep_dims = true;
  sum.axes = {1};
  fbs::BinaryT divide;
  divide.kind = fbs::BinaryKind::Div;
  const TensorId normalized = edit.add(divide, {shares, edit.add(std::move(sum), {shares})});
  piece.operators[edit.at()].inputs[2] = normalized;
}

}  // namespace

void experts_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const Piece& piece = suspect.piece;
  if (piece.operators[k].params.type != fbs::OpParams::Experts) return;
  const TensorId shares = piece.operators[k].inputs[2];
  if (const auto division = normalization_of(piece, shares)) {
    out.push_back({.text = kNotNormalized,
                   .repaired = kNormalized,
                   .from = *division,
                   .plant = [at = *division](Piece& p) { bypass(p.operators[at]); },
                   .at = k});
  } else if (const Array* values = suspect.value(shares); values != nullptr && values->shape.rank == 2) {
    out.push_back(
        {.text = kNormalized, .repaired = kNotNormalized, .from = k, .plant = [k](Piece& p) { normalize(p, k); }});
  }
}

}  // namespace ferry::bisect
