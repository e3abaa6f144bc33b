// Operators of a network one by one, and those that run other subgraphs: IF, WHILE, STABLEHLO_COMPOSITE. A subgraph's
// operators are added to the graph each time that it is run.
#pragma once

#include <vector>

#include "converter/tflite/op.h"
#include "converter/tflite/operators.h"

namespace ferry::tflite {

// Calls the import function. What depends on constants only is folded. Throws Error with the reason if the operator
// cannot be imported.
void add_operator(Values& values, const schema::Operator& op, OpFunction function);

// The outputs of subgraph `index` for these inputs, run by `op`. Throws Error if it cannot be imported, or runs itself.
std::vector<Passed> run_subgraph(const Op& op, int index, const std::vector<Passed>& inputs);

}  // namespace ferry::tflite
