// A blob's text tables, a flatbuffer of text.fbs: verified, then used on texts with its pieces and tokens.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "sdk/text/tokenizer.h"
#include "sdk/text/utf8.h"
#include "sdk/text/verify_text.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/text_mutator.h"

namespace {

using ferry::fuzz::require;

constexpr size_t kLongest = 600;  // bytes of a text

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const int count = ferry::character_bytes(text);
    if (count < 1) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Some of its pieces and added tokens, concatenated.
std::string text_of_pieces(const ferry::fbs::Tokenizer& table) {
  std::string text;
  const auto& pieces = *table.pieces();
  for (unsigned i = 0; i < pieces.size() && text.size() < kLongest; i += 1 + pieces.size() / 40)
    text += pieces.Get(i)->string_view().substr(0, 40);
  for (const auto* added : {table.added(), table.added_normalized()}) {
    if (added == nullptr) continue;
    for (unsigned i = 0; i < added->tokens()->size() && text.size() < 2 * kLongest; ++i) {
      text += ' ';
      text += added->tokens()->Get(i)->content()->string_view().substr(0, 40);
    }
  }
  return text;
}

void use(const ferry::Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {true, false}) {
    std::vector<int32_t> ids;
    if (!tokenizer.encode(text, {.special = special, .beginning = special}, &ids).ok()) continue;
    ferry::TextDecoder decoder(tokenizer);
    std::string written;
    for (const int32_t id : ids) {
      require(id >= 0 && id < tokenizer.size(), "an id that is no piece's");
      decoder.append(id, &written);
    }
    decoder.finish(&written);
    require(is_utf8(written), "a text that is no UTF-8");
  }
}

}  // namespace

FERRY_FUZZ(tables) {
  const Aligned aligned(bytes);
  const fbs::Text* table = nullptr;
  if (!read_text(aligned, &table).ok() || table->tokenizer() == nullptr) return;
  std::unique_ptr<Tokenizer> tokenizer;
  if (!Tokenizer::create(*table->tokenizer(), &tokenizer).ok()) return;
  use(*tokenizer, "The h\xC3\xA9\xCC\x81llo  <s> 12345\n\xFF\xF0\x9F \xEA\xB0\x81 the the\xE2\x96\x81!? he");
  use(*tokenizer, text_of_pieces(*table->tokenizer()));
  TextDecoder decoder(*tokenizer, true);
  std::string written;
  for (int32_t id = 0; id < std::min(tokenizer->size(), 300); ++id) decoder.append(id, &written);
  require(is_utf8(written), "a text that is no UTF-8");
}

#if defined(FERRY_LIBFUZZER)
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  ferry::fuzz::Random random(seed);
  std::vector<uint8_t> text(data, data + size);
  if (random.once_in(10) || !ferry::fuzz::mutate_text(&text, random)) return LLVMFuzzerMutate(data, size, maximum);
  if (text.size() > maximum) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
#endif
