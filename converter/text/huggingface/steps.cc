// Normalizers and pre-tokenizers of the `tokenizers` library.
#include <array>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/charsmap.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/regex.h"

namespace ferry::huggingface {
namespace {

using fbs::Behaviour;
using nlohmann::json;

// BasicTokenizer's punctuation, including ASCII symbols.
constexpr const char* kPunctuation = "[!-/:-@\\[-`{-~\\p{P}]";
// BasicTokenizer's CJK ideographs.
constexpr const char* kIdeographs =
    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}\\x{2B740}-\\x{2B81F}"
    "\\x{2B920}-\\x{2CEAF}\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA1F}]";
// GPT-2's word pattern (encoder.py).
constexpr const char* kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

std::string decode_base64(const std::string& text, const std::string& where) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) fail("%s: its charsmap is not base64", where.c_str());
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return out;
}

// BertNormalizer: BasicTokenizer's cleanup.
void add_bert(const json& part, StepBuilder& steps) {
  const bool lowercase = flag_of(part, "lowercase", steps.where(), true);
  if (flag_of(part, "clean_text", steps.where(), true)) {
    steps.replace("[\\x00\\x{FFFD}[\\p{Cc}\\p{Cf}\\p{Co}&&[^\\t\\n\\r]]]", "");
    steps.replace("\\s", " ");
  }
  if (flag_of(part, "handle_chinese_chars", steps.where(), true)) {
    steps.replace(std::string("(?=") + kIdeographs + ")", " ");
    steps.replace(std::string("(?<=") + kIdeographs + ")", " ");
  }
  if (flag_of(part, "strip_accents", steps.where(), lowercase)) {
    steps.normalize({.compatible = false, .composed = false});
    steps.replace("\\p{Mn}", "");
  }
  if (lowercase) steps.lowercase();
}

// SentencePiece's nmt rules.
void add_nmt(StepBuilder& steps) {
  steps.replace("[\\x01-\\x08\\x0B\\x0E-\\x1F\\x7F\\x{8F}\\x{9F}]", "");
  steps.replace("[\\t\\n\\f\\r\\x{1680}\\x{200B}-\\x{200F}\\x{2028}\\x{2029}\\x{2581}\\x{FEFF}\\x{FFFD}]", " ");
}

Behaviour behaviour_of(const json& part, const char* otherwise, const std::string& where) {
  const std::string name = text_of(part, "behavior", where, otherwise);
  const std::pair<const char*, Behaviour> known[] = {{"Isolated", Behaviour::Isolated},
                                                     {"Removed", Behaviour::Removed},
                                                     {"Contiguous", Behaviour::Contiguous},
                                                     {"MergedWithPrevious", Behaviour::MergedWithPrevious},
                                                     {"MergedWithNext", Behaviour::MergedWithNext}};
  for (const auto& [text, behaviour] : known)
    if (name == text) return behaviour;
  fail("%s: the behaviour %s is unknown", where.c_str(), in_quotes(name).c_str());
}

void add_metaspace(const json& part, StepBuilder& steps) {
  const std::string mark = text_of(part, "replacement", steps.where(), "\xE2\x96\x81");
  const std::string expression = escaped(mark);
  const bool prefix = flag_of(part, "add_prefix_space", steps.where(), true);
  const std::string scheme = text_of(part, "prepend_scheme", steps.where(), "always");
  steps.replace(" ", mark);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    fail("%s: the prepend_scheme %s is unknown", steps.where().c_str(), in_quotes(scheme).c_str());
  if (prefix && scheme != "never")
    steps.replace("\\A(?!" + expression + ")", mark, scheme == "first" ? fbs::Where::First : fbs::Where::Beginning);
  if (flag_of(part, "split", steps.where(), true)) steps.cut(expression, Behaviour::MergedWithNext);
}

}  // namespace

void add_normalizer(const json& part, StepBuilder& steps) {
  if (part.is_null()) return;
  const std::string type = type_of(part, steps.where());
  if (type == "Sequence") {
    if (absent(part, "normalizers") || !part["normalizers"].is_array())
      fail("%s: its Sequence has no \"normalizers\"", steps.where().c_str());
    for (const json& each : part["normalizers"]) add_normalizer(each, steps);
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    steps.normalize({.compatible = type.size() == 4, .composed = type.back() == 'C'});
  } else if (type == "Lowercase") {
    steps.lowercase();
  } else if (type == "StripAccents") {
    steps.replace("\\p{M}", "");
  } else if (type == "Strip") {
    if (flag_of(part, "strip_left", steps.where(), true)) steps.replace("\\A\\s+", "");
    if (flag_of(part, "strip_right", steps.where(), true)) steps.replace("\\s+\\z", "");
  } else if (type == "Replace") {
    if (absent(part, "pattern")) fail("%s: its Replace has no \"pattern\"", steps.where().c_str());
    steps.replace(expression_of(part["pattern"], steps.where()), text_of(part, "content", steps.where()));
  } else if (type == "Prepend") {
    steps.replace("\\A(?=(?m:.))", text_of(part, "prepend", steps.where()), fbs::Where::Beginning);
  } else if (type == "BertNormalizer") {
    add_bert(part, steps);
  } else if (type == "Nmt") {
    add_nmt(steps);
  } else if (type == "Precompiled") {
    const std::string map = decode_base64(text_of(part, "precompiled_charsmap", steps.where()), steps.where());
    if (!map.empty()) steps.map(read_charsmap(map, steps.where()), true);
  } else {
    fail("%s: the normalizer %s is not supported", steps.where().c_str(), in_quotes(type).c_str());
  }
}

bool add_pre_tokenizer(const json& part, StepBuilder& steps) {
  if (part.is_null()) return false;
  const std::string& where = steps.where();
  const std::string type = type_of(part, where);
  if (type == "Sequence") {
    if (absent(part, "pretokenizers") || !part["pretokenizers"].is_array())
      fail("%s: its Sequence has no \"pretokenizers\"", where.c_str());
    bool bytes = false;
    for (const json& each : part["pretokenizers"]) {
      if (bytes) fail("%s: a pre-tokenizer behind ByteLevel is not supported", where.c_str());
      bytes = add_pre_tokenizer(each, steps);
    }
    return bytes;
  }
  if (type == "ByteLevel") {
    if (flag_of(part, "add_prefix_space", where, true)) steps.replace("\\A(?! )", " ", fbs::Where::Beginning);
    if (flag_of(part, "use_regex", where, true)) steps.cut(kGpt2, Behaviour::Isolated);
    return true;
  }
  if (type == "Split") {
    if (absent(part, "pattern")) fail("%s: its Split has no \"pattern\"", where.c_str());
    steps.cut(expression_of(part["pattern"], where), behaviour_of(part, "Isolated", where),
              flag_of(part, "invert", where));
  } else if (type == "Metaspace") {
    add_metaspace(part, steps);
  } else if (type == "Whitespace") {
    steps.cut(std::string(kWord) + "+|[^\\s" + kWord + "]+", Behaviour::Removed, true);
  } else if (type == "WhitespaceSplit") {
    steps.cut("\\s", Behaviour::Removed);
  } else if (type == "Punctuation") {
    steps.cut(kPunctuation, behaviour_of(part, "Isolated", where));
  } else if (type == "BertPreTokenizer") {
    steps.cut("\\s", Behaviour::Removed);
    steps.cut(kPunctuation, Behaviour::Isolated);
  } else if (type == "Digits") {
    steps.cut("\\p{N}", flag_of(part, "individual_digits", where) ? Behaviour::Isolated : Behaviour::Contiguous);
  } else if (type == "CharDelimiterSplit" || type == "Delimiter") {
    steps.cut(escaped(text_of(part, "delimiter", where)), Behaviour::Removed);
  } else if (type == "FixedLength") {
    steps.cut("(?m:.{1," + std::to_string(number_of(part, "length", where, 1, 1000, 5)) + "})", Behaviour::Isolated);
  } else {
    fail("%s: the pre-tokenizer %s is not supported", where.c_str(), in_quotes(type).c_str());
  }
  return false;
}

bool to_bytes(std::string* piece) {
  // Printable characters of Latin-1 represent their own bytes; U+0100 and following represent the others in order.
  static const std::array<int, 0x144> kBytes = [] {
    std::array<int, 0x144> bytes;
    bytes.fill(-1);
    size_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      bytes[printable ? static_cast<size_t>(byte) : next++] = byte;
    }
    return bytes;
  }();
  std::string out;
  for (size_t at = 0; at < piece->size();) {
    const auto first = static_cast<uint8_t>((*piece)[at]);
    size_t character = first;
    size_t bytes = 1;
    if (first >= 0x80) {
      if (first < 0xC2 || first > 0xC5 || at + 1 == piece->size()) return false;
      character = size_t{first & 0x1Fu} << 6 | (static_cast<uint8_t>((*piece)[at + 1]) & 0x3F);
      bytes = 2;
    }
    if (character >= kBytes.size() || kBytes[character] < 0) return false;
    out += static_cast<char>(kBytes[character]);
    at += bytes;
  }
  *piece = std::move(out);
  return true;
}

}  // namespace ferry::huggingface
