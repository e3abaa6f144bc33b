// The reference of operators on Int8 activations: the arithmetic of docs/format.md, "Integer arithmetic". Results are
// the integers that every backend gives, without a tolerance.
#pragma once

#include "sdk/reference/reference.h"

namespace ferry::reference {

// The function of an operator whose types are checked and whose input or output is Int8.
Function int8_function_of(fbs::OpParams type);

}  // namespace ferry::reference
