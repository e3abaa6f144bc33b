// Parts of with_cached_attention() (cached_attention.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/onnx/evaluate.h"
#include "converter/onnx/model.h"
#include "converter/refused.h"

namespace ferry::onnx {

// Keys or values of one layer, [1,heads,T,channels].
struct Cache {
  std::string past;   // the input
  std::string fresh;  // those of this run's tokens
  std::string all;    // both, concatenated
  // What `all` and the products read: `all` itself, or, in a file without a past, what is transposed to it, whose
  // dimension i is dimension order[i] of `all`.
  std::string source;
  std::vector<size_t> order = {0, 1, 2, 3};
  std::string present;  // the output, a copy of `all`
  int64_t heads = 0, channels = 0;
};

struct CachedAttention {
  size_t key = 0, value = 0;     // caches
  const Node* scores = nullptr;  // product of queries and keys
  const Node* last = nullptr;    // product of probabilities and values
  // Found by prove_causal():
  Dims queries, result;  // the first dimensions of both products: [1,heads], or [heads]
  double scale = 1;      // of the scores
  int64_t window = 0;
};

struct LanguageModel {
  std::vector<Cache> caches;
  std::vector<CachedAttention> attentions;
  std::string logits;
  bool prompt_only = false;  // without a past
  bool one_token = false;    // in each run: decoder_with_past_model.onnx
};

// A run of `tokens` tokens after `past` ones.
struct Step {
  int64_t past, tokens;
  int64_t total() const { return past + tokens; }
};

// Nothing if the file is of another kind. Throws Refused if a cache is read otherwise than by one attention.
std::optional<LanguageModel> find_language_model(const Model& model);

// Throws Refused unless every attention is causal at several sizes, and at `length` positions. Sets their scales and
// windows.
void prove_causal(const Model& model, LanguageModel* language, int64_t length);
// Whether the masks can be computed for `length` positions.
bool has_masks(const Model& model, const LanguageModel& language, int64_t length);

// Replaces what follows from the mask and the past's length by the positions of the tokens, in a model whose attentions
// are nodes CachedAttention. Throws Refused if it is something else.
void replace_positions(Model* model, const LanguageModel& language, int64_t length);
// Whether the positions and what follows from them can be computed for `length` positions.
bool has_positions(const Model& model, const LanguageModel& language, int64_t length);

// ---- shared by these

// Dimensions of a cache's source.
Dims source_dims(const Cache& cache, int64_t total);
// Leaves the nodes that the outputs depend on.
void prune(Model* model);
// The input or output of that name; null if there is none.
const ValueInfo* find_value(const std::vector<ValueInfo>& values, const std::string& name);

// The inputs of a run: the tokens unknown, all others known.
Given given_for(const Model& model, const LanguageModel& language, const Step& step);
// Sizes at which values are compared. A file for prompts has no past.
std::vector<Step> steps_of(const LanguageModel& language);
// One token after all others, or a long prompt.
Step last_step(const LanguageModel& language, int64_t length);

constexpr const char* kOrdinary = " (with --shape for every input, the file is an ordinary network)";

}  // namespace ferry::onnx
