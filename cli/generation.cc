#include "cli/generation.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ferry::cli {
namespace {

// ID:VALUE, the value may be "-inf".
std::pair<int32_t, float> read_bias(const std::string& word) {
  char* end = nullptr;
  const long id = std::strtol(word.c_str(), &end, 10);
  const bool colon = end != word.c_str() && *end == ':';
  const char* number = colon ? end + 1 : end;
  const float value = colon ? std::strtof(number, &end) : 0;
  if (!colon || end == number || *end != '\0' || id < 0 || id > INT32_MAX || std::isnan(value))
    fail("--bias %s: expected ID:VALUE, as in 403:-2.5 or 403:-inf", word.c_str());
  return {static_cast<int32_t>(id), value};
}

}  // namespace

TextHandle open_text(const ModelHandle& model) {
  ferry_text* text = nullptr;
  if (const ferry_status status = ferry_text_open(model.get(), &text); status != FERRY_NOT_FOUND) check(status);
  return TextHandle(text);
}

Ids encode(const TextHandle& text, const std::string& words, bool special) {
  size_t count = 0;
  check(ferry_text_encode(text.get(), words.data(), words.size(), special, nullptr, &count));
  Ids ids(count);
  check(ferry_text_encode(text.get(), words.data(), words.size(), special, ids.data(), &count));
  return ids;
}

std::string decode(const TextHandle& text, const Ids& ids) {
  size_t bytes = 0;
  check(ferry_text_decode(text.get(), ids.data(), ids.size(), nullptr, &bytes));
  std::string words(bytes, '\0');
  check(ferry_text_decode(text.get(), ids.data(), ids.size(), words.data(), &bytes));
  return words;
}

std::string render(const TextHandle& text, const std::string& chat) {
  size_t bytes = 0;
  check(ferry_text_render(text.get(), chat.data(), chat.size(), nullptr, &bytes));
  std::string words(bytes, '\0');
  check(ferry_text_render(text.get(), chat.data(), chat.size(), words.data(), &bytes));
  return words;
}

GeneratorHandle create_generator(const ModelHandle& model, const ferry_session_options& options) {
  ferry_generator* generator = nullptr;
  check(ferry_generator_create(model.get(), &options, &generator));
  return GeneratorHandle(generator);
}

Ids tokens_of(const GeneratorHandle& generator) {
  size_t count = 0;
  const int32_t* tokens = ferry_generator_tokens(generator.get(), &count);
  return {tokens, tokens + count};
}

std::string text_of(const GeneratorHandle& generator) {
  size_t bytes = 0;
  const char* text = ferry_generator_text(generator.get(), &bytes);
  return std::string(text, bytes);
}

namespace {

void with_image(const std::string& path, const GeneratorHandle& generator,
                ferry_status (*use)(ferry_generator*, const ferry_image*)) {
  ferry_image image;
  check(ferry_image_load(path.c_str(), &image));
  const ferry_status status = use(generator.get(), &image);
  ferry_image_free(&image);
  if (status != FERRY_OK) fail("%s: %s", path.c_str(), ferry_last_error());
}

}  // namespace

void add_image(const std::string& path, const GeneratorHandle& generator) {
  with_image(path, generator, ferry_generator_add_image);
}

void append_image(const std::string& path, const GeneratorHandle& generator) {
  with_image(path, generator, ferry_generator_append_image);
}

void add_sampling_options(const Command& command, SamplingOptions* o) {
  command.group("Sampling");
  command
      .add_option(
          "--temperature", o->temperature,
          "0: the most probable token; above 0: a random one. Without an option: as the model's authors recommend")
      .type_name("T");
  command.add_option("--top-k", o->top_k, "Sample among the K most probable tokens; 0: all").type_name("K");
  command.add_option("--top-p", o->top_p, "Sample among the fewest tokens with total probability P").type_name("P");
  command.add_option("--min-p", o->min_p, "Sample among tokens with at least P times the maximum probability")
      .type_name("P");
  command.add_option("--repetition-penalty", o->repetition_penalty, "Divide the logits of tokens that occurred before")
      .type_name("X");
  command.add_option("--bias", o->bias, "Add VALUE to the logit of token ID, -inf: never choose it; may be repeated")
      .type_name("ID:VALUE");
  command.add_option("--seed", o->seed, "Random seed: the same seed gives the same text")
      .type_name("N")
      .capture_default_str();
  command.add_option("--stop", o->stop, "End the text before this string; may be repeated").type_name("TEXT");
  command.group("Options");
}

namespace {

// What the model's authors recommend, or the command's own settings.
ferry_sampling sampling_without_options(Sampling otherwise, const GeneratorHandle& generator) {
  ferry_sampling sampling;
  ferry_sampling_init(&sampling);
  const ferry_status status = ferry_generator_recommended_sampling(generator.get(), &sampling);
  if (status != FERRY_NOT_FOUND) check(status);
  if (otherwise == Sampling::Greedy) {
    sampling.temperature = 0;
  } else if (sampling.temperature == 0) {
    sampling.temperature = 0.7f;
    sampling.top_p = 0.95f;
  }
  return sampling;
}

}  // namespace

void set_sampling(const SamplingOptions& given, Sampling otherwise, const GeneratorHandle& generator) {
  ferry_sampling sampling = sampling_without_options(otherwise, generator);
  sampling.temperature = given.temperature.value_or(sampling.temperature);
  sampling.top_k = given.top_k.value_or(sampling.top_k);
  sampling.top_p = given.top_p.value_or(sampling.top_p);
  sampling.min_p = given.min_p.value_or(sampling.min_p);
  sampling.repetition_penalty = given.repetition_penalty.value_or(sampling.repetition_penalty);
  sampling.seed = static_cast<uint64_t>(given.seed);
  Ids tokens;
  std::vector<float> values;
  for (const std::string& word : given.bias) {
    const auto [token, value] = read_bias(word);
    tokens.push_back(token);
    values.push_back(value);
  }
  sampling.bias_tokens = tokens.data();
  sampling.bias_values = values.data();
  sampling.bias_count = tokens.size();
  std::vector<const char*> stop;
  for (const std::string& word : given.stop) stop.push_back(word.c_str());
  sampling.stop = stop.data();
  sampling.stop_count = stop.size();
  check(ferry_generator_set_sampling(generator.get(), &sampling));
}

}  // namespace ferry::cli
