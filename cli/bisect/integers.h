// Int8 values of blobs and graphs, for the oracle.
#pragma once

#include <set>

#include "cli/bisect/piece.h"
#include "sdk/model/elements.h"

namespace ferry::bisect {

// The constants of operators on Int8 activations, which the oracle takes as integers.
std::set<TensorId> constants_of_integers(const fbs::GraphT& graph);
// Such a constant of a blob, as reference::integer_constant() returns those of a graph.
Array integer_constant(const StoredConstant& stored);

// The real numbers of Int8 with a scale; other arrays as they are.
Array real(Array array);
// Int8 of this type, from the real numbers.
Array integers_of(Array real, const Type& type);
// Whether no real numbers differ by more than one step of this type.
bool within_a_step(const Array& ours, const Array& right, const Type& type);

// Adds the real numbers of an Int8 value, behind all other operators.
TensorId add_real(fbs::GraphT* graph, TensorId integers);

}  // namespace ferry::bisect
