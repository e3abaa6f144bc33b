// What commands that generate text share: a model's tokenizer, a generator, and sampling.
#pragma once

#include <ferry/text.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/sdk.h"

namespace ferry::cli {

struct CloseText {
  void operator()(ferry_text* text) const { ferry_text_close(text); }
  void operator()(ferry_generator* generator) const { ferry_generator_close(generator); }
};
using TextHandle = std::unique_ptr<ferry_text, CloseText>;
using GeneratorHandle = std::unique_ptr<ferry_generator, CloseText>;
using Ids = std::vector<int32_t>;

// Null if the blob has no text part.
TextHandle open_text(const ModelHandle& model);
// `special`: adds the ids that begin and end every text.
Ids encode(const TextHandle& text, const std::string& words, bool special);
std::string decode(const TextHandle& text, const Ids& ids);
// `chat`: JSON, as for ferry_text_render().
// Throws Error with the library's message.
std::string render(const TextHandle& text, const std::string& chat);

GeneratorHandle create_generator(const ModelHandle& model, const ferry_session_options& options);
Ids tokens_of(const GeneratorHandle& generator);
// The text that the last ferry_generator_next() completed.
std::string text_of(const GeneratorHandle& generator);

// Throws Error with the file's name if it holds no image, or if the model accepts no images.
void add_image(const std::string& path, const GeneratorHandle& generator);
// The same, and appends the image to the text.
void append_image(const std::string& path, const GeneratorHandle& generator);

// --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --seed, --bias, --stop
struct SamplingOptions {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<int> top_k;
  int seed = 0;
  std::vector<std::string> bias, stop;

  bool operator==(const SamplingOptions&) const = default;
};
void add_sampling_options(const Command& command, SamplingOptions* options);
enum class Sampling {
  Greedy,  // unless --temperature is given
  Random,  // as the model's authors recommend; without that temperature 0.7 and top-p 0.95
};
// What is not given is what the model's authors recommend. Throws Error with the library's message on values out of
// range.
void set_sampling(const SamplingOptions& given, Sampling otherwise, const GeneratorHandle& generator);

}  // namespace ferry::cli
