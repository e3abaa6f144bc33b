// Structure-aware mutations of blobs. Without them hardly one input in a thousand passes the verifier.
#pragma once

#include "ferry_generated.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/table_mutator.h"

namespace ferry::fuzz {

// One random change of a table, including ones that no file can express.
using MutateGraph = void (*)(fbs::GraphT& graph, Random& random);

// Changes anything of a graph: its operators, their inputs and parameters, tensors, preprocessing.
void mutate_graph(fbs::GraphT& graph, Random& random);

// Like LLVMFuzzerCustomMutator: changes `data` of `size` bytes, at most `maximum`, and returns the new size. Data that
// is not a blob is mutated as plain bytes.
size_t mutate_blob(uint8_t* data, size_t size, size_t maximum, unsigned seed, MutateGraph mutate = mutate_graph);

}  // namespace ferry::fuzz
