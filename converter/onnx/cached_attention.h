// Language models whose attention with a cache is written with operators of the standard, as optimum exports them: new
// keys are concatenated to past ones, repeated for the query heads that share them, and multiplied with the queries; a
// mask is made of the sizes and the attention mask.
//
// Each such attention becomes one node ferry.CachedAttention with the first inputs and outputs of GroupQueryAttention.
// That it computes causal attention is not read from the operators, which differ from exporter to exporter: what lies
// between the products is computed at several sizes, and compared.
#pragma once

#include <optional>
#include <string>

#include "converter/onnx/model.h"

namespace ferry::onnx {

// Inputs of a language model, by the names that all exporters give them.
constexpr const char *kIds = "input_ids", *kMask = "attention_mask", *kPositionIds = "position_ids",
                     *kUseCache = "use_cache_branch";

struct CachedModel {
  Model model;
  int64_t rows = 0;  // positions for which the file has rows in its tables; 0: any number
};

// The file with nodes CachedAttention, for at most `length` positions; nothing if the file is no language model of this
// kind. A file for prompts only, which returns its keys and values but has no past, gets inputs of past ones. Throws
// Refused if the file is of this kind, but computes something else.
std::optional<CachedModel> with_cached_attention(const Model& model, int64_t length);

}  // namespace ferry::onnx
