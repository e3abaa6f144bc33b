#include "converter/gguf/architecture.h"

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::gguf {
namespace {

constexpr Architecture kArchitectures[] = {
    {.name = "llama",
     .model_type = "llama",
     .theta = 10000,
     .windowed_type = "mistral",
     .mixture_type = "mixtral",
     .permuted = true},
    {.name = "smollm3", .model_type = "smollm3", .theta = 10000, .permuted = true},
    {.name = "qwen2", .model_type = "qwen2", .theta = 10000},
    {.name = "qwen3", .model_type = "qwen3", .theta = 10000},
    {.name = "qwen3moe", .model_type = "qwen3_moe", .theta = 10000, .experts = true},
    {.name = "gemma2", .model_type = "gemma2", .theta = 10000, .gemma = 2},
    {.name = "gemma3", .model_type = "gemma3_text", .theta = 1e6, .gemma = 3},
    {.name = "gpt-oss", .model_type = "gpt_oss", .theta = 150000, .experts = true, .sinks = true},
    {.name = "phi3", .model_type = "phi3", .theta = 10000, .fused = true},
};

}  // namespace

const Architecture& architecture_of(const Metadata& metadata) {
  const std::string name = metadata.text("general.architecture").value_or("");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  fail("%s: general.architecture is %s, which Ferry does not read from GGUF (known: %s)", metadata.path().c_str(),
       in_quotes(name).c_str(), known.c_str());
}

}  // namespace ferry::gguf
