#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/generation.h"
#include "cli/print.h"
#include "cli/run.h"

namespace ferry::cli {
namespace {

// The default of --max-tokens.
constexpr size_t kMaxTokens = 256;

Ids prompt_of(const RunOptions& o, const TextHandle& text) {
  if (!o.has_prompt) return o.tokens;
  if (!text) fail("--prompt: %s has no tokenizer: give the prompt's token ids with --tokens", o.model.c_str());
  return encode(text, o.prompt, true);
}

// The number of tokens to generate. Throws Error if the model does not hold that many.
size_t tokens_to_add(const RunOptions& o, size_t prompt, size_t holds) {
  if (prompt == 0) fail("--prompt: the text is empty, and the model has no token that begins a text");
  if (prompt >= holds)
    fail(
        "the prompt has %zu tokens, and the model holds %zu, prompt and answer together: `ferry convert --max-length` "
        "sets the length",
        prompt, holds);
  const size_t room = holds - prompt;
  if (o.max_tokens == 0) return std::min(kMaxTokens, room);
  if (static_cast<size_t>(o.max_tokens) > room)
    fail(
        "--max-tokens %d: the prompt has %zu tokens, and the model holds %zu, prompt and answer together: `ferry "
        "convert --max-length` sets the length",
        o.max_tokens, prompt, holds);
  return static_cast<size_t>(o.max_tokens);
}

// What a model generates appears at once.
void print_now(const std::string& text) {
  print_text(text);
  std::fflush(stdout);
}

}  // namespace

int run_text(const RunOptions& o, const ModelHandle& model, const ferry_session_options& options,
             const PackedCache& cache) {
  const GeneratorHandle generator = create_generator(model, options);
  BackendNotes notes;
  notes.print(ferry_generator_session(generator.get()));
  set_sampling(o.sampling, Sampling::Greedy, generator);
  const TextHandle words = open_text(model);
  for (const std::string& path : o.shown) append_image(path, generator);
  const Ids given = prompt_of(o, words);
  Ids prompt = tokens_of(generator);
  prompt.insert(prompt.end(), given.begin(), given.end());
  const size_t count = tokens_to_add(o, prompt.size(), ferry_generator_max_length(generator.get()));
  check(ferry_generator_append(generator.get(), given.data(), given.size()));
  if (!o.json && words) print_now(o.has_prompt ? o.prompt : decode(words, given));

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::time_point first = start;
  Ids tokens;
  std::vector<float> log_probabilities;
  std::string text;
  while (tokens.size() < count && !ferry_generator_ended(generator.get())) {
    int32_t token = 0;
    check(ferry_generator_next(generator.get(), &token));
    if (tokens.empty()) first = Clock::now();
    tokens.push_back(token);
    log_probabilities.push_back(ferry_generator_log_probability(generator.get()));
    const std::string piece = text_of(generator);
    text += piece;
    if (!o.json) print_now(words ? piece : std::to_string(token) + " ");
  }
  cache.finish_check(model);
  if (o.json) {
    nlohmann::ordered_json result = {{"prompt", prompt}, {"tokens", tokens}};
    if (o.has_prompt) result["text"] = text;
    if (o.log_probabilities) result["log_probabilities"] = log_probabilities;
    print_document(result, -1);
  } else {
    print("\n");
  }
  notes.print(ferry_generator_session(generator.get()));
  if (isatty(STDERR_FILENO)) {
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    print_error("prompt of %zu tokens in %.2f s, then %.1f tokens a second\n", prompt.size(), seconds(first - start),
                static_cast<double>(tokens.size() - 1) / seconds(Clock::now() - first));
  }
  return kDone;
}

}  // namespace ferry::cli
