#include "converter/reference/reference.h"

#include <utility>

#include "converter/error.h"

namespace ferry::reference {

std::vector<Array> compute_all(const fbs::Operator& op, Inputs inputs, std::span<const State> states,
                               const Type& quantization) {
  std::vector<Array> outputs;
  const Status status = compute(op, inputs, states, &outputs, quantization);
  if (!status.ok()) fail("%s", status.message().data());
  return outputs;
}

Array compute(const fbs::Operator& op, Inputs inputs, std::span<const State> states, const Type& quantization) {
  return std::move(compute_all(op, inputs, states, quantization).front());
}

}  // namespace ferry::reference
