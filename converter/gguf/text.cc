#include "converter/gguf/text.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::gguf {
namespace {

using nlohmann::json;

// tokenizer.ggml.token_type, with SentencePiece's numbers.
enum TokenType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

// The words of a byte-level BPE, as the tokenizer.json of the models has them.
constexpr const char* kLlama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
    "|\\s+(?!\\S)|\\s+";
constexpr const char* kQwen2 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
    "|\\s+(?!\\S)|\\s+";
constexpr const char* kGpt4o =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|"
    "'d)?"
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'"
    "ll|'d)?"
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kTekken =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// A value of tokenizer.ggml.pre.
struct Pre {
  std::string_view name;
  const char* words;         // null: GPT-2's
  bool composed = false;     // texts are normalised to NFC
  bool whole_words = false;  // a word of the vocabulary is one token, without merges
  bool digits = false;       // each digit is a word
  bool begins = false;       // the default of add_bos_token
};

constexpr Pre kPres[] = {
    {.name = "llama-bpe", .words = kLlama3, .whole_words = true, .begins = true},
    {.name = "llama3", .words = kLlama3, .whole_words = true, .begins = true},
    {.name = "llama-v3", .words = kLlama3, .whole_words = true, .begins = true},
    {.name = "dbrx", .words = kLlama3},
    {.name = "qwen2", .words = kQwen2, .composed = true},
    {.name = "deepseek-r1-qwen", .words = kQwen2, .composed = true},
    {.name = "gpt-2", .words = nullptr},
    {.name = "smollm", .words = nullptr, .digits = true},
    {.name = "gpt-4o", .words = kGpt4o},
    {.name = "tekken", .words = kTekken, .whole_words = true, .begins = true},
};

// Texts of control tokens that end a turn, which llama.cpp recognises by them. Other ends have keys.
constexpr std::string_view kEnds[] = {"<|eot_id|>", "<|im_end|>", "<|end|>",         "<end_of_turn>", "<|endoftext|>",
                                      "<|eom_id|>", "<EOT>",      "<|end_of_text|>", "<eos>",         "</s>"};

class Vocabulary {
 public:
  explicit Vocabulary(const Metadata& metadata) : metadata_(metadata) {
    const Value* tokens = metadata.list("tokenizer.ggml.tokens", Value::Kind::Texts);
    if (!tokens) fail("%s: the metadata has no tokenizer.ggml.tokens", metadata.path().c_str());
    texts_ = tokens->texts;
    types_ = numbers("tokenizer.ggml.token_type", kNormal);
    for (size_t id = 0; id < size(); ++id)
      if (!(types_[id] >= double{kNormal} && types_[id] <= double{kByte}))
        fail("%s: tokenizer.ggml.token_type is %g for token %zu, expected 1 to 6", metadata.path().c_str(), types_[id],
             id);
    scores_ = numbers("tokenizer.ggml.scores", 0);
  }

  size_t size() const { return texts_.size(); }
  std::string text(size_t id) const { return std::string(texts_[id]); }
  int type(size_t id) const { return static_cast<int>(types_[id]); }
  double score(size_t id) const { return scores_[id]; }
  // The token of a key, "eos"; none if the key is absent. Throws Error if there is no such token.
  std::optional<size_t> special(const char* name) const {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    const Value* value = metadata_.find(key);
    if (!value || value->number == 4294967295.0 || value->number == -1) return {};  // llama.cpp's "none"
    const std::optional<int> id = metadata_.integer(key);
    if (static_cast<size_t>(*id) >= size())
      fail("%s: %s is %d, but there are %zu tokens", metadata_.path().c_str(), key.c_str(), *id, size());
    return static_cast<size_t>(*id);
  }

 private:
  std::vector<double> numbers(const char* key, double otherwise) const {
    const Value* value = metadata_.list(key, Value::Kind::Numbers);
    if (!value) return std::vector<double>(size(), otherwise);
    if (value->numbers.size() != size())
      fail("%s: %s has %zu elements, but there are %zu tokens", metadata_.path().c_str(), key, value->numbers.size(),
           size());
    return value->numbers;
  }

  const Metadata& metadata_;
  std::vector<std::string_view> texts_;
  std::vector<double> types_, scores_;
};

json split_by(const char* words) {
  return {{"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Isolated"}, {"invert", false}};
}

const Pre& pre_of(const Metadata& metadata) {
  const std::string name = metadata.text("tokenizer.ggml.pre").value_or("");
  std::string known;
  for (const Pre& pre : kPres) {
    if (name == pre.name) return pre;
    known += (known.empty() ? "" : ", ") + std::string(pre.name);
  }
  fail("%s: tokenizer.ggml.pre is %s, which Ferry does not read (known: %s)", metadata.path().c_str(),
       in_quotes(name).c_str(), known.c_str());
}

json pre_tokenizer_of(const Pre& pre) {
  json steps = json::array();
  if (pre.words) steps.push_back(split_by(pre.words));
  if (pre.digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", pre.words == nullptr}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

// Byte-level BPE ("gpt2"): tokens and merges are in the alphabet of tokenizer.json.
std::string tokenizer_json(const Metadata& metadata, const Vocabulary& vocabulary, const Pre& pre,
                           json post_processor) {
  json pieces = json::object(), added = json::array(), merges = json::array();
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const int type = vocabulary.type(id);
    if (type == kUnused) continue;
    const std::string text = vocabulary.text(id);
    if (text.empty()) continue;
    if (!pieces.emplace(text, id).second)
      fail("%s: two tokens are %s, the second of id %zu", metadata.path().c_str(), in_quotes(text).c_str(), id);
    if (type == kControl || type == kUserDefined || type == kUnknown)
      added.push_back({{"id", id}, {"content", text}, {"special", type != kUserDefined}, {"normalized", false}});
  }
  const Value* list = metadata.list("tokenizer.ggml.merges", Value::Kind::Texts);
  if (!list) fail("%s: the metadata has no tokenizer.ggml.merges", metadata.path().c_str());
  for (const std::string_view merge : list->texts) merges.push_back(std::string(merge));
  json normalizer = nullptr;
  if (pre.composed) normalizer = {{"type", "NFC"}};
  const json file = {
      {"normalizer", normalizer},
      {"pre_tokenizer", pre_tokenizer_of(pre)},
      {"post_processor", std::move(post_processor)},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens", added},
      {"model", {{"type", "BPE"}, {"vocab", pieces}, {"merges", merges}, {"ignore_merges", pre.whole_words}}}};
  try {
    return file.dump();
  } catch (const json::exception&) {
    fail("%s: a token is not UTF-8", metadata.path().c_str());
  }
}

// Writes a message of Protocol Buffers.
class Message {
 public:
  void number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
  }
  void text(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes += value;
  }
  void real(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
  }

  std::string bytes;

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
};

// SentencePiece's BPE ("llama"). Fields are those of sentencepiece_model.proto.
std::string sentencepiece_model(const Metadata& metadata, const Vocabulary& vocabulary) {
  constexpr uint64_t kBpe = 2;
  Message model;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    Message piece;
    piece.text(1, vocabulary.text(id));
    piece.real(2, static_cast<float>(vocabulary.score(id)));
    piece.number(3, static_cast<uint64_t>(vocabulary.type(id)));
    model.text(1, piece.bytes);
  }
  const auto id = [&](const char* name) {
    const std::optional<size_t> found = vocabulary.special(name);
    return found ? *found : ~uint64_t{0};
  };
  Message trainer, normalizer;
  trainer.number(3, kBpe);
  trainer.number(41, id("bos"));
  trainer.number(42, id("eos"));
  normalizer.number(3, metadata.flag("tokenizer.ggml.add_space_prefix").value_or(true));
  normalizer.number(4, metadata.flag("tokenizer.ggml.remove_extra_whitespaces").value_or(false));
  model.text(2, trainer.bytes);
  model.text(3, normalizer.bytes);
  return model.bytes;
}

// Tokens around every text.
json post_processor_of(const Vocabulary& vocabulary, bool begins, bool ends) {
  json parts = json::array(), known = json::object();
  const auto add = [&](const char* name) {
    const std::optional<size_t> id = vocabulary.special(name);
    if (!id) return;
    const std::string text = vocabulary.text(*id);
    parts.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    known[text] = {{"id", text}, {"ids", {*id}}, {"tokens", {text}}};
  };
  if (begins) add("bos");
  parts.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (ends) add("eos");
  return {{"type", "TemplateProcessing"}, {"single", parts}, {"special_tokens", known}};
}

json ends_of(const Vocabulary& vocabulary) {
  std::vector<size_t> ids;
  const auto add = [&](size_t id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const char* name : {"eos", "eot", "eom"})
    if (const std::optional<size_t> id = vocabulary.special(name)) add(*id);
  for (size_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.type(id) == kControl &&
        std::find(std::begin(kEnds), std::end(kEnds), vocabulary.text(id)) != std::end(kEnds))
      add(id);
  return ids;
}

}  // namespace

Companions::Texts text_files_of(const Metadata& metadata, std::vector<std::string>* notes) {
  const std::string model = metadata.text("tokenizer.ggml.model").value_or("none");
  if (model == "none" || model == "no_vocab") return {};
  if (model != "gpt2" && model != "llama")
    fail("%s: tokenizer.ggml.model is %s, expected gpt2 (byte-level BPE) or llama (SentencePiece)",
         metadata.path().c_str(), in_quotes(model).c_str());
  const Vocabulary vocabulary(metadata);
  const bool bytewise = model == "gpt2";
  const Pre* pre = bytewise ? &pre_of(metadata) : nullptr;
  const bool begins = metadata.flag("tokenizer.ggml.add_bos_token").value_or(!bytewise || pre->begins);
  const bool ends = metadata.flag("tokenizer.ggml.add_eos_token").value_or(false);

  Companions::Texts files;
  json config = {{"add_bos_token", begins}, {"add_eos_token", ends}};
  constexpr std::pair<const char*, const char*> kTokens[] = {
      {"bos", "bos_token"}, {"eos", "eos_token"}, {"unknown", "unk_token"}, {"padding", "pad_token"}};
  for (const auto& [name, key] : kTokens)
    if (const std::optional<size_t> id = vocabulary.special(name)) config[key] = vocabulary.text(*id);
  if (const auto chat = metadata.text("tokenizer.chat_template")) config["chat_template"] = *chat;
  if (!config.contains("chat_template"))
    notes->push_back("the file has no tokenizer.chat_template: `ferry chat` needs one");
  if (bytewise) {
    // The class decides nothing: post_processor says what is added.
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
    files["tokenizer.json"] = tokenizer_json(metadata, vocabulary, *pre, post_processor_of(vocabulary, begins, ends));
  } else {
    files["tokenizer.model"] = sentencepiece_model(metadata, vocabulary);
  }
  try {
    files["tokenizer_config.json"] = config.dump();
  } catch (const json::exception&) {
    fail("%s: tokenizer.chat_template or a special token is not UTF-8", metadata.path().c_str());
  }
  files["generation_config.json"] = json({{"eos_token_id", ends_of(vocabulary)}}).dump();
  return files;
}

}  // namespace ferry::gguf
