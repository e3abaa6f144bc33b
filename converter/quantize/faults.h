// Finds the faulty operator of a quantised network, from the float network that it was made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

// Errors as SQNR in dB; infinite where there is none.
struct Examined {
  std::string name, kind;
  double local = 0;     // of this operator with its constants and scales, on the float network's values
  double expected = 0;  // of the same operator, quantised here from the float network
  double carried = 0;   // in the quantised network
  bool faulty = false;  // the local error exceeds the expected one by more than rounding does
  std::string cause;    // of a faulty operator, in words; "" if no known cause explains it
};

struct FaultReport {
  std::vector<Examined> operators;  // that compute on Int8, in the order of the network
  std::optional<size_t> first;      // the first faulty one
};

// On one sample. `quantised` must have the operators of `real`, in their order, and conversions between them. Throws
// Error if it has others.
FaultReport find_faults(Graph& real, Graph& quantised, const Sample& sample, int threads);

}  // namespace ferry::int8
