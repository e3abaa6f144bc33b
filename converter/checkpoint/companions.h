// The files beside a checkpoint.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ferry {

// Files beside a checkpoint that belong to it, by the names of Hugging Face's libraries and llama2.c.
inline constexpr std::array kCheckpointCompanions = {
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "model_index.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "quant_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/tool_use.jinja",
    "tokenizer.bin",
};

// These files, in a folder, or made from the metadata of a file that holds all itself (GGUF): then the files in its
// folder are another model's.
class Companions {
 public:
  using Texts = std::map<std::string, std::string>;

  Companions(std::filesystem::path folder);  // implicit: a folder is its files
  // `file`: for messages.
  Companions(std::filesystem::path file, std::shared_ptr<const Texts> made);

  bool has(const std::string& name) const;
  // The content; empty if the file does not exist. Throws Error if it cannot be read.
  std::string read(const std::string& name) const;
  // Null if the file does not exist. Throws Error if it is not JSON.
  nlohmann::json read_json(const std::string& name) const;
  // For messages: the path, or "model.gguf: tokenizer.json".
  std::string where(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const Texts> made_;  // null: files in the folder `path_`
};

}  // namespace ferry
