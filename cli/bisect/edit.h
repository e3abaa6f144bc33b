// Editing primitives that causes use to change a piece.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry::bisect {

// Inserts operators into a piece, one after the other, from a position on.
class Edit {
 public:
  // Starts before operator number `at`.
  Edit(Piece& piece, size_t at);

  TensorId add_constant(const std::string& name, Array value);

  template <typename Params>
  TensorId add(Params params, std::vector<TensorId> inputs) {
    fbs::OperatorT op;
    op.params.Set(std::move(params));
    op.inputs = std::move(inputs);
    return insert(std::move(op));
  }

  // Renames the output of the tensor's producer, or the outside value, and returns the new id. attach() then says what
  // `tensor` becomes.
  TensorId detach(TensorId tensor);
  // Makes `tensor` the output of the operator added last.
  void attach(TensorId tensor);

  // The number of the next operator to be added.
  size_t at() const { return at_; }

 private:
  TensorId fresh() { return tensor_at(next_++); }
  TensorId insert(fbs::OperatorT op);

  Piece& piece_;
  size_t at_;
  size_t next_ = 0;  // an unused id
};

// Replaces `old` by `now` in the inputs of `op`.
void reread(fbs::OperatorT& op, TensorId old, TensorId now);
// Makes the operator return its input number `input` unchanged.
void bypass(fbs::OperatorT& op, size_t input = 0);

}  // namespace ferry::bisect
