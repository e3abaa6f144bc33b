#include <string>

#include "converter/text/chat_template.h"
#include "converter/text/ends.h"
#include "converter/text/huggingface/sentencepiece.h"
#include "converter/text/huggingface/tokenizer.h"
#include "converter/text/llama2c_tokenizer.h"
#include "converter/text/sampling.h"
#include "converter/text/text_files.h"
#include "sdk/text/template/template.h"

namespace ferry {
namespace {

// Files of tokenizers that are not read.
constexpr const char* kUnread[] = {"vocab.json",   "merges.txt", "tekken.json",     "vocab.txt",
                                   "spiece.model", "source.spm", "tiktoken.model",  "qwen.tiktoken",
                                   "vocab.model",  "tokens.txt", "tokenizer.vocab", "sentencepiece.bpe.model"};

std::string missing_tokenizer(const Companions& files) {
  std::string unread;
  for (const char* name : kUnread)
    if (files.has(name)) unread += (unread.empty() ? "" : ", ") + std::string(name);
  return "there is no tokenizer.json, tokenizer.model or tokenizer.bin beside the checkpoint: the blob accepts token "
         "ids "
         "only" +
         (unread.empty() ? std::string()
                         : " (" + unread +
                               ": not read; transformers' AutoTokenizer.save_pretrained() writes a "
                               "tokenizer.json)");
}

void note_unusable_template(const std::string& source, const char* what, std::vector<std::string>* notes) {
  std::unique_ptr<jinja::Template> parsed;
  if (const Status status = jinja::Template::parse(source, &parsed); !source.empty() && !status.ok())
    notes->push_back(std::string("the chat template") + what + " cannot be used: " + std::string(status.message()));
}

}  // namespace

std::unique_ptr<fbs::TextT> text_in(const Companions& files, int vocabulary, std::vector<std::string>* notes) {
  std::unique_ptr<fbs::TokenizerT> tokenizer;
  const std::string numbered = "tok" + std::to_string(vocabulary) + ".bin";
  if (files.has("tokenizer.json"))
    tokenizer = read_huggingface_tokenizer(files, "tokenizer.json", notes);
  else if (files.has("tokenizer.model"))
    tokenizer = read_sentencepiece(files, "tokenizer.model");
  else if (files.has(numbered))
    tokenizer = read_llama2c_tokenizer(files.where(numbered), vocabulary);
  else if (files.has("tokenizer.bin"))
    tokenizer = read_llama2c_tokenizer(files.where("tokenizer.bin"), vocabulary);
  auto text = std::make_unique<fbs::TextT>();
  text->tokenizer = std::move(tokenizer);
  const ChatTemplate chat = chat_template_in(files);
  if (!chat.text.empty()) add_chat_template(chat, text.get());
  return text->tokenizer || !chat.text.empty() ? std::move(text) : nullptr;
}

fbs::TextT text_of_model(const Companions& files, const nlohmann::json& config, int vocabulary,
                         std::vector<std::string>* notes) {
  const auto found = text_in(files, vocabulary, notes);
  fbs::TextT text = found ? *found : fbs::TextT();
  if (!text.tokenizer) notes->push_back(missing_tokenizer(files));
  note_unusable_template(text.chat_template, "", notes);
  note_unusable_template(text.chat_template_with_tools, " for tools", notes);
  add_ends(files, config, vocabulary, &text, notes);
  add_sampling(files, &text, notes);
  return text;
}

}  // namespace ferry
