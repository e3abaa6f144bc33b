// Saved states.
#include <ferry/ferry.h>

#include <string>

#include "converter/pack/pack.h"
#include "tests/fuzz/harness.h"
#include "tests/support/blobs.h"
#include "tests/support/states_file.h"

namespace {

ferry_states* open_states() {
  static const auto& blob = *new ferry::fuzz::Aligned(ferry::pack(*ferry::testing::small_transformer()));
  ferry_model* model = nullptr;
  ferry_states* states = nullptr;
  ferry::fuzz::require(ferry_model_open_memory(blob.data(), blob.size(), &model) == FERRY_OK &&
                           ferry_states_create(model, &states) == FERRY_OK,
                       "the test's own blob cannot be opened");
  ferry_model_close(model);
  return states;
}

}  // namespace

FERRY_FUZZ(states) {
  static ferry_states* const states = open_states();
  const auto file = Folder::get().write("states", ferry::testing::with_checksum(std::string(text)));
  const int32_t length = ferry_states_length(states);
  if (ferry_states_load(states, file.c_str()) != FERRY_OK) {
    require(ferry_states_length(states) == length, "a file that was refused changed the states");
    return;
  }
  for (size_t i = 0; i < ferry_states_count(states); ++i) {
    ferry_tensor tensor;
    require(ferry_states_describe(states, i, &tensor) == FERRY_OK, "a state cannot be described");
    if (tensor.data != nullptr) touch(std::span(static_cast<const std::byte*>(tensor.data), tensor.bytes));
  }
}
