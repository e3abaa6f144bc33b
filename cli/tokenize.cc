// ferry tokenize
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "converter/checkpoint/companions.h"
#include "converter/checkpoint/json.h"
#include "converter/text/text_files.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/verify_text.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TokenizeOptions {
  std::string source, input;
  bool special = false, decode = false, skip_special = false;
};

// The tokenizer of a blob, or that of a folder, compiled.
class Source {
 public:
  explicit Source(const std::string& path) {
    const fbs::Text* text = nullptr;
    if (fs::is_directory(path)) {
      bytes_ = compiled(path);
      check(read_text(std::as_bytes(std::span(bytes_)), &text));
    } else {
      model_ = open_model(path);
      size_t size = 0;
      const void* data = ferry_model_text(model_.get(), &size);
      if (data) check(read_text({static_cast<const std::byte*>(data), size}, &text));
    }
    if (!text || !text->tokenizer()) fail("%s has no tokenizer: the model accepts token ids only", path.c_str());
    check(Tokenizer::create(*text->tokenizer(), &tokenizer_));
  }
  const Tokenizer& operator*() const { return *tokenizer_; }

 private:
  static std::vector<uint8_t> compiled(const fs::path& folder) {
#if defined(FERRY_HAS_CONVERTER)
    // llama2.c's files do not have the vocabulary's size; the network does.
    int vocabulary = 0;
    const json config = Companions(folder).read_json("config.json");
    const json size = config.is_object() ? config.value("vocab_size", json()) : json();
    if (size.is_number_integer() && size > 0 && size <= kMaxPieces) vocabulary = size;
    std::vector<std::string> notes;
    const auto text = text_in(folder, vocabulary, &notes);
    for (const std::string& note : notes) print_error("ferry tokenize: %s\n", note.c_str());
    if (!text) fail("%s: there is no tokenizer.json, tokenizer.model or tokenizer.bin", folder.c_str());
    return packed(*text);
#else
    fail("%s: a folder's tokenizer needs the converter, which this build leaves out: give a blob", folder.c_str());
#endif
  }

  ModelHandle model_;
  std::vector<uint8_t> bytes_;  // a vector's memory is aligned to 8
  std::unique_ptr<Tokenizer> tokenizer_;
};

json read_list(const std::string& path) {
  const std::string where = path == "-" ? "standard input" : path;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) fail("%s: cannot be read", where.c_str());
  json list = parse_json(std::string{std::istreambuf_iterator<char>(in), {}}, where);
  if (!list.is_array()) fail("%s: it is not a JSON array", where.c_str());
  return list;
}

json encoded(const Tokenizer& tokenizer, const json& text, size_t index, const TokenizeOptions& o) {
  if (!text.is_string()) fail("%s: entry %zu is not a text", o.input.c_str(), index);
  std::vector<int32_t> ids;
  check(tokenizer.encode(text.get_ref<const std::string&>(), {.special = o.special}, &ids));
  return ids;
}

json decoded(const Tokenizer& tokenizer, const json& ids, size_t index, const TokenizeOptions& o) {
  if (!ids.is_array()) fail("%s: entry %zu is not an array of ids", o.input.c_str(), index);
  TextDecoder decoder(tokenizer, o.skip_special);
  std::string text;
  for (const json& id : ids) {
    if (!id.is_number_integer() || id < 0 || id >= tokenizer.size())
      fail("%s: entry %zu has %s, which is none of the tokenizer's ids, 0 to %d", o.input.c_str(), index,
           id.dump().c_str(), tokenizer.size() - 1);
    decoder.append(id, &text);
  }
  decoder.finish(&text);
  return text;
}

int tokenize(const TokenizeOptions& o) {
  const Source source(o.source);
  const json list = read_list(o.input);
  json out = json::array();
  for (size_t i = 0; i < list.size(); ++i)
    out.push_back(o.decode ? decoded(*source, list[i], i, o) : encoded(*source, list[i], i, o));
  print_document(out, -1);
  return kDone;
}

}  // namespace

void add_tokenize(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "tokenize", "Convert texts to token ids and back");
  app.footer(
      "\nThe tokenizer is a blob's, or a folder's: its tokenizer.json, else tokenizer.model, else llama2.c's file.\n"
      "Special tokens in a text are recognised.\n"
      "\nExamples:\n"
      "  ferry tokenize Qwen3-0.6B/ texts.json                  [\"Once upon\"] to [[12522,5193]]\n"
      "  ferry tokenize qwen.ferry texts.json --special         with the tokens that begin and end a text\n"
      "  ferry tokenize qwen.ferry ids.json --decode            ids to texts\n"
      "  echo '[\"Hello\"]' | ferry tokenize qwen.ferry -         from standard input");
  auto o = std::make_shared<TokenizeOptions>();
  app.add_option("FOLDER_OR_BLOB", o->source, "The blob or folder with the tokenizer").required().type_name("");
  app.add_option("TEXTS", o->input, "A JSON array of texts, or with --decode of lists of ids; -: standard input")
      .required()
      .type_name("");
  app.add_flag("--special", o->special, "Add the special tokens that begin and end a text");
  app.add_flag("--decode", o->decode, "Ids to texts");
  app.add_flag("--skip-special", o->skip_special, "With --decode: leave special tokens out");
  app.callback([o, exit_code] { *exit_code = tokenize(*o); });
}

}  // namespace ferry::cli
