// Saved conversations: states whose note is a text (docs/format.md, "Saved texts").
#include <ferry/text.h>

#include <string>
#include <vector>

#include "converter/pack/pack.h"
#include "tests/fuzz/harness.h"
#include "tests/support/language_model.h"
#include "tests/support/states_file.h"

namespace {

ferry_generator* open_generator() {
  static const auto& blob = *new ferry::fuzz::Aligned(ferry::pack(*ferry::testing::small_language_model()));
  ferry_model* model = nullptr;
  ferry_generator* generator = nullptr;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  ferry::fuzz::require(ferry_model_open_memory(blob.data(), blob.size(), &model) == FERRY_OK &&
                           ferry_generator_create(model, &options, &generator) == FERRY_OK,
                       "the test's own blob cannot be opened");
  ferry_model_close(model);
  return generator;
}

std::vector<int32_t> tokens_of(const ferry_generator* generator) {
  size_t count = 0;
  const int32_t* tokens = ferry_generator_tokens(generator, &count);
  return {tokens, tokens + count};
}

}  // namespace

FERRY_FUZZ(conversation) {
  static ferry_generator* const generator = open_generator();
  const auto file = Folder::get().write("conversation", ferry::testing::with_checksum(std::string(text)));
  const std::vector<int32_t> before = tokens_of(generator);
  if (ferry_generator_load(generator, file.c_str()) != FERRY_OK) {
    require(*ferry_last_error() != 0, "a refusal without a sentence");
    require(tokens_of(generator) == before, "a file that was refused changed the text");
    return;
  }
  const std::vector<int32_t> loaded = tokens_of(generator);
  require(loaded.size() <= ferry_generator_max_length(generator), "a text that is too long");
  for (const int32_t token : loaded)
    require(token >= 0 && token < ferry::testing::kSmallVocabulary, "a token beyond the vocabulary");
  size_t note = 0;
  const void* bytes_of_note = ferry_generator_note(generator, &note);
  touch(std::span(static_cast<const std::byte*>(bytes_of_note), note));
  int32_t token = 0;
  if (ferry_generator_next(generator, &token) == FERRY_OK) {
    size_t size = 0;
    const char* made = ferry_generator_text(generator, &size);
    touch(std::span(made, size));
    require(tokens_of(generator).size() == loaded.size() + 1, "a token went lost");
  }
  // What was loaded can be saved, and is the same again.
  require(ferry_generator_save(generator, file.c_str(), nullptr, 0) == FERRY_OK, "it cannot be saved");
  const std::vector<int32_t> saved = tokens_of(generator);
  require(ferry_generator_load(generator, file.c_str()) == FERRY_OK && tokens_of(generator) == saved,
          "what was saved cannot be loaded");
}
