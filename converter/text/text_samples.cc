#include "converter/text/text_samples.h"

#include <algorithm>
#include <memory>

#include "converter/error.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/utf8.h"
#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

void check_utf8(std::string_view contents, const std::string& name) {
  for (size_t at = 0; at < contents.size();) {
    const int bytes = character_bytes(contents.substr(at));
    if (bytes <= 0) fail("%s: byte %zu is not UTF-8, expected a text file", name.c_str(), at);
    at += static_cast<size_t>(bytes);
  }
}

}  // namespace

TextSamples text_samples(std::span<const uint8_t> text, std::string_view contents, size_t length,
                         const std::string& name) {
  const fbs::Text* table = nullptr;
  const auto check = [&](const Status& status) {
    if (!status.ok()) fail("%s: %s", name.c_str(), status.message().data());
  };
  if (!text.empty()) check(read_text(std::as_bytes(text), &table));
  if (table == nullptr || table->tokenizer() == nullptr)
    fail("%s: the model has no tokenizer, which a text to calibrate with needs", name.c_str());
  if (contents.empty()) fail("%s is empty", name.c_str());
  check_utf8(contents, name);
  std::unique_ptr<Tokenizer> tokenizer;
  check(Tokenizer::create(*table->tokenizer(), &tokenizer));
  std::vector<int32_t> begin, ids;
  check(tokenizer->encode("", {}, &begin));
  check(tokenizer->encode(contents, {.special = false}, &ids));
  if (begin.size() + 1 >= length) fail("%s: sequences of %zu tokens are too short", name.c_str(), length);

  const size_t own = length - begin.size(), whole = ids.size() / own;
  if (whole < TextSamples::kHeldOut)
    fail("%s: %zu tokens are too few: expected at least %zu, which are %zu sequences of %zu", name.c_str(), ids.size(),
         TextSamples::kHeldOut * own, TextSamples::kHeldOut, own);
  const size_t count = std::min(whole, TextSamples::kMaxSequences);
  TextSamples out;
  for (size_t i = 0; i < count; ++i) {
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(i * whole / count * own);
    std::vector<int32_t>& sequence =
        (i % TextSamples::kHeldOut == TextSamples::kHeldOut - 1 ? out.held_out : out.calibrate).emplace_back(begin);
    sequence.insert(sequence.end(), from, from + static_cast<std::ptrdiff_t>(own));
  }
  return out;
}

}  // namespace ferry
