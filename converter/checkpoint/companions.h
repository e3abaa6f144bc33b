// The files beside a checkpoint.
#pragma once

#include <array>

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

}  // namespace ferry
