#include "cli/bisect/causes.h"

namespace ferry::bisect {

const Array* Suspect::value(TensorId tensor) const {
  for (const Values* values : {&piece.known, &computed})
    if (const auto found = values->find(tensor); found != values->end()) return &found->second;
  return nullptr;
}

Causes known_causes(const Suspect& suspect) {
  Causes out;
  rotary_causes(suspect, out);
  for (size_t k = 0; k < suspect.piece.operators.size(); ++k) {
    attention_causes(suspect, k, out);
    experts_causes(suspect, k, out.known);
    unread_causes(suspect, k, out.known);
  }
  for (size_t k = 0; k < suspect.piece.operators.size(); ++k) {
    norm_causes(suspect, k, out.known);
    weight_causes(suspect, k, out.known);
    parameter_causes(suspect.piece, k, out.known);
  }
  for (size_t k = 0; k < suspect.piece.operators.size(); ++k) missing_causes(suspect.piece, k, out.known);
  return out;
}

}  // namespace ferry::bisect
