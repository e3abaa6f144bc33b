// Activations that the graph lacks before or after an operator.
#include <algorithm>
#include <set>

#include "cli/bisect/activations.h"
#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"
#include "sdk/operators/operators.h"

namespace ferry::bisect {
namespace {

bool takes_activations(fbs::OpParams type) {
  using Op = fbs::OpParams;
  return type == Op::Conv2d || type == Op::ConvTranspose2d || type == Op::Linear || type == Op::Pool2d ||
         type == Op::Binary || type == Op::Concat || type == Op::Resize2d || type == Op::Pad || type == Op::Reduce;
}

bool is_activated(const Piece& piece, TensorId value) {
  return std::any_of(piece.operators.begin(), piece.operators.end(), [value](const fbs::OperatorT& o) {
    return o.params.type == fbs::OpParams::Unary && (o.inputs.front() == value || o.outputs.front() == value);
  });
}

}  // namespace

void missing_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& op = piece.operators[k];
  const std::string called = op_name(op.params.type) + (op.name.empty() ? std::string() : " '" + op.name + "'");
  const auto add = [&](const std::string& where, const auto& plant) {
    for (const Activation& a : kActivations) {
      if (&a == kActivations) continue;  // "none" is no activation
      fbs::UnaryT unary;
      unary.kind = a.kind, unary.alpha = a.alpha, unary.beta = a.beta;
      out.push_back({std::string("an activation (") + a.name + ") is applied" + where + " and should not be",
                     blob_has("no activation" + where, a.name), k, [plant, unary](Piece& p) { plant(p, unary); }});
    }
  };
  const auto readers = [&](TensorId value) {
    return std::count_if(piece.operators.begin(), piece.operators.end(), [value](const fbs::OperatorT& o) {
      return std::find(o.inputs.begin(), o.inputs.end(), value) != o.inputs.end();
    });
  };
  // Values from outside the piece, or with several readers, get the activation before this operator only.
  std::set<TensorId> seen;
  for (const TensorId value : op.inputs)
    if (takes_activations(op.params.type) && !piece.is_constant(value) && seen.insert(value).second &&
        (piece.known.contains(value) || readers(value) > 1) && !is_activated(piece, value))
      add(" before " + called, [k, value](Piece& p, const fbs::UnaryT& unary) {
        Edit edit(p, k);
        const TensorId activated = edit.add(unary, {value});
        reread(p.operators[edit.at()], value, activated);
      });
  const TensorId value = op.outputs.front();
  if (op.params.type == fbs::OpParams::Unary || op.outputs.size() != 1 || is_activated(piece, value)) return;
  add(" after " + called, [k, value](Piece& p, const fbs::UnaryT& unary) {
    Edit edit(p, k + 1);
    edit.add(unary, {edit.detach(value)});
    edit.attach(value);
  });
}

}  // namespace ferry::bisect
