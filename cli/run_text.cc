#include <ferry/text.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/run.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

// Unless --max-tokens says otherwise.
constexpr size_t kMaxTokens = 256;

struct Close {
  void operator()(ferry_generator* generator) const { ferry_generator_close(generator); }
};
using GeneratorHandle = std::unique_ptr<ferry_generator, Close>;
using Ids = std::vector<int32_t>;

bool has_tokenizer(const ModelHandle& model) {
  size_t count = 0;
  return ferry_model_tokenize(model.get(), "", 0, nullptr, &count) == FERRY_OK;
}

Ids tokenize(const ModelHandle& model, const std::string& text) {
  size_t count = 0;
  check(ferry_model_tokenize(model.get(), text.data(), text.size(), nullptr, &count));
  Ids ids(count);
  check(ferry_model_tokenize(model.get(), text.data(), text.size(), ids.data(), &count));
  return ids;
}

std::string detokenize(const ModelHandle& model, const Ids& ids) {
  size_t bytes = 0;
  check(ferry_model_detokenize(model.get(), ids.data(), ids.size(), nullptr, &bytes));
  std::string text(bytes, '\0');
  check(ferry_model_detokenize(model.get(), ids.data(), ids.size(), text.data(), &bytes));
  return text;
}

Ids prompt_of(const RunOptions& o, const ModelHandle& model) {
  if (!o.has_prompt) return o.tokens;
  if (!has_tokenizer(model))
    fail("--prompt: %s has no tokenizer: give the prompt's token ids with --tokens", o.model.c_str());
  return tokenize(model, o.prompt);
}

// How many tokens to add: as many as were asked for, or as the model still holds.
size_t tokens_to_add(const RunOptions& o, size_t prompt, size_t holds) {
  if (prompt == 0) fail("--prompt: the text is empty, and the model knows no token to begin one with");
  if (prompt >= holds)
    fail("the prompt has %zu tokens, and the model holds %zu, prompt and answer together", prompt, holds);
  const size_t room = holds - prompt;
  if (o.max_tokens == 0) return std::min(kMaxTokens, room);
  if (static_cast<size_t>(o.max_tokens) > room)
    fail("--max-tokens %d: the prompt has %zu tokens, and the model holds %zu, prompt and answer together",
         o.max_tokens, prompt, holds);
  return static_cast<size_t>(o.max_tokens);
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

int run_text(const RunOptions& o, const ModelHandle& model, const ferry_session_options& options) {
  ferry_generator* made = nullptr;
  check(ferry_generator_create(model.get(), &options, &made));
  const GeneratorHandle generator(made);
  warn_of_cpu(ferry_generator_session(made));
  const Ids prompt = prompt_of(o, model);
  const size_t count = tokens_to_add(o, prompt.size(), ferry_generator_max_length(made));
  check(ferry_generator_append(made, prompt.data(), prompt.size()));
  const bool as_text = has_tokenizer(model);
  if (!o.json && as_text) print(o.has_prompt ? o.prompt : detokenize(model, prompt));

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::time_point first = start;
  Ids tokens;
  std::string text;
  while (tokens.size() < count && !ferry_generator_ended(made)) {
    int32_t token = 0;
    check(ferry_generator_next(made, &token));
    if (tokens.empty()) first = Clock::now();
    tokens.push_back(token);
    size_t bytes = 0;
    const char* piece = ferry_generator_text(made, &bytes);
    text.append(piece, bytes);
    if (!o.json) print(as_text ? std::string(piece, bytes) : std::to_string(token) + " ");
  }
  if (o.json) {
    nlohmann::ordered_json result = {{"prompt", prompt}, {"tokens", tokens}};
    if (o.has_prompt) result["text"] = text;
    print(result.dump());
  }
  print("\n");
  if (isatty(STDERR_FILENO)) {
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    std::fprintf(stderr, "prompt of %zu tokens in %.2f s, then %.1f tokens a second\n", prompt.size(),
                 seconds(first - start), static_cast<double>(tokens.size() - 1) / seconds(Clock::now() - first));
  }
  return kDone;
}

}  // namespace ferry::cli
