// ferry bench of a language model: a prompt, then one token after the other.
#pragma once

#include <string>

#include "cli/sdk.h"

namespace ferry::cli {

struct TextBench {
  std::string model;
  int prompt_tokens = 0, new_tokens = 0;  // 0: 512 and 128, or as many as the model holds
  int rounds = 3;
  bool json = false;
};

// Is it a language model?
bool is_text(const ModelHandle& model);
int bench_text(const TextBench& bench, const ModelHandle& model, double load_ms, const ferry_session_options& options);

}  // namespace ferry::cli
