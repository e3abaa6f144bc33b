// Opens blobs: maps, verifies, describes. network.cc runs them.
#include "tests/fuzz/blob_mutator.h"
#include "tests/fuzz/use_model.h"

FERRY_FUZZ(blob) {
  const Aligned blob(bytes);
  ferry_model* model = nullptr;
  const ferry_status status = ferry_model_open_memory(blob.data(), blob.size(), &model);
  if (status == FERRY_OK) {
    describe_model(model);
    ferry_model_close(model);
  } else {
    require(model == nullptr && *ferry_last_error() != 0, "a failure without a sentence, or with a model");
    require(status >= FERRY_NOT_A_BLOB && status <= FERRY_UNSUPPORTED, "a status that no blob gives");
  }
}

#if defined(FERRY_LIBFUZZER)
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  return ferry::fuzz::mutate_blob(data, size, maximum, seed);
}
#endif
