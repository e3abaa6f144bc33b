// Arbitrary bytes as text, to ids and back: valid text survives the round trip.
#include <ferry/text.h>

#include <vector>

#include "converter/pack/pack.h"
#include "sdk/text/utf8.h"
#include "tests/fuzz/harness.h"
#include "tests/support/language_model.h"

namespace {

ferry_text* open_text() {
  static const auto& blob = *new ferry::fuzz::Aligned(ferry::pack(*ferry::testing::small_language_model()));
  ferry_model* model = nullptr;
  ferry::fuzz::require(ferry_model_open_memory(blob.data(), blob.size(), &model) == FERRY_OK,
                       "the test's own blob cannot be opened");
  ferry_text* text = nullptr;
  ferry::fuzz::require(ferry_text_open(model, &text) == FERRY_OK, "the test's own text cannot be opened");
  ferry_model_close(model);  // the text keeps the blob open
  return text;
}

bool well_formed(std::string_view text) {
  while (!text.empty()) {
    const int count = ferry::character_bytes(text);
    if (count < 1) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

FERRY_FUZZ(text) {
  static ferry_text* const tokenizer = open_text();
  std::vector<int32_t> ids(text.size() + 4);
  size_t count = ids.size();
  require(ferry_text_encode(tokenizer, text.data(), text.size(), true, ids.data(), &count) == FERRY_OK,
          "a text is refused");
  std::string written(3 * text.size() + 16, '\0');
  size_t size = written.size();
  require(ferry_text_decode(tokenizer, ids.data(), count, written.data(), &size) == FERRY_OK, "ids are refused");
  written.resize(size);
  require(well_formed(written), "a text that is no UTF-8");
  require(!well_formed(text) || written == text, "a text comes back as another");
}
