// Mutations of blobs that know what a blob is: without them hardly one in a thousand gets past the verifier.
#pragma once

#include "ferry_generated.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/table_mutator.h"

namespace ferry::fuzz {

// One random change of a table, be it one that no file could say.
using MutateGraph = void (*)(fbs::GraphT& graph, Random& random);

// Anything of a graph: its operators, who reads what, their parameters, tensors, recipes.
void mutate_graph(fbs::GraphT& graph, Random& random);

// As LLVMFuzzerCustomMutator: changes `data` of `size` bytes, at most `maximum`, and returns the new size. What is no
// blob is changed as any other bytes.
size_t mutate_blob(uint8_t* data, size_t size, size_t maximum, unsigned seed, MutateGraph mutate = mutate_graph);

}  // namespace ferry::fuzz
