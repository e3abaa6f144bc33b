#include <string>

#include "converter/text/chat_template.h"
#include "converter/text/huggingface/sentencepiece.h"
#include "converter/text/huggingface/tokenizer.h"
#include "converter/text/llama2c_tokenizer.h"
#include "converter/text/text_files.h"

namespace ferry {

std::unique_ptr<fbs::TextT> text_in(const std::filesystem::path& folder, int vocabulary) {
  std::unique_ptr<fbs::TokenizerT> tokenizer;
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(folder / name); };
  const std::string numbered = "tok" + std::to_string(vocabulary) + ".bin";
  if (exists("tokenizer.json"))
    tokenizer = read_huggingface_tokenizer(folder / "tokenizer.json");
  else if (exists("tokenizer.model"))
    tokenizer = read_sentencepiece(folder / "tokenizer.model");
  else if (exists(numbered))
    tokenizer = read_llama2c_tokenizer(folder / numbered, vocabulary);
  else if (exists("tokenizer.bin"))
    tokenizer = read_llama2c_tokenizer(folder / "tokenizer.bin", vocabulary);
  auto text = std::make_unique<fbs::TextT>();
  text->tokenizer = std::move(tokenizer);
  const ChatTemplate chat = chat_template_in(folder);
  if (!chat.text.empty()) add_chat_template(chat, text.get());
  return text->tokenizer || !chat.text.empty() ? std::move(text) : nullptr;
}

}  // namespace ferry
