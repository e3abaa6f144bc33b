// Blobs that pass the verifier, used in every way of an app, with limits on memory and time.
#include "tests/fuzz/blob_mutator.h"
#include "tests/fuzz/use_model.h"

FERRY_FUZZ(network) {
  const Aligned blob(bytes);
  ferry_model* model = nullptr;
  if (ferry_model_open_memory(blob.data(), blob.size(), &model) != FERRY_OK) return;
  use_model(model);
  for (size_t i = 1; i < ferry_model_graph_count(model); ++i) {
    ferry_model* graph = nullptr;
    if (ferry_model_open_graph(model, ferry_model_graph_name(model, i), &graph) == FERRY_OK) use_model(graph);
    ferry_model_close(graph);
  }
  ferry_model_close(model);
}

#if defined(FERRY_LIBFUZZER)
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  return ferry::fuzz::mutate_blob(data, size, maximum, seed);
}
#endif
