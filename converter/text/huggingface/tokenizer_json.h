// tokenizer.json of the `tokenizers` library. Vocabulary and merges, most of the file, are parsed by events; the
// rest is kept as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ferry::huggingface {

struct TokenizerJson {
  nlohmann::json rest;  // without model.vocab and model.merges
  bool has_vocabulary = false, has_merges = false;
  bool scored = false;                                 // the vocabulary is a list of pieces and scores
  std::vector<std::pair<std::string, double>> pieces;  // with ids or scores, in the file's order
  std::vector<std::pair<std::string, std::string>> merges;
};

// Throws Error that begins with `where` if the file is invalid.
TokenizerJson read_tokenizer_json(const std::string& bytes, const std::string& where);

}  // namespace ferry::huggingface
