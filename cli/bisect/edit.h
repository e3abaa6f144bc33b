// Changing a piece: what causes plant.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry::bisect {

// Adds operators to a piece, one behind the other, from a place on.
class Edit {
 public:
  // Before operator number `at`.
  Edit(Piece& piece, size_t at);

  TensorId add_constant(const std::string& name, Array value);

  template <typename Params>  // fbs::LinearT...
  TensorId add(Params params, std::vector<TensorId> inputs) {
    fbs::OperatorT op;
    op.params.Set(std::move(params));
    op.inputs = std::move(inputs);
    return insert(std::move(op));
  }

  // What computed `tensor`, or gave it from outside, gives another one from now on, which is returned: `tensor` is to
  // be what attach() says.
  TensorId detach(TensorId tensor);
  // `tensor` is what the operator added last computes.
  void attach(TensorId tensor);

  // The number of the next operator to be added.
  size_t at() const { return at_; }

 private:
  TensorId fresh() { return tensor_at(next_++); }
  TensorId insert(fbs::OperatorT op);

  Piece& piece_;
  size_t at_;
  size_t next_ = 0;  // an id that no tensor has
};

// Everything in `op` that reads `old` reads `now`.
void reread(fbs::OperatorT& op, TensorId old, TensorId now);
// The operator gives its input number `input` as it is.
void bypass(fbs::OperatorT& op, size_t input = 0);

}  // namespace ferry::bisect
