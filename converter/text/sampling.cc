#include "converter/text/sampling.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "converter/text/generation_config.h"
#include "sdk/text/sampling.h"

namespace ferry {
namespace {

using nlohmann::json;

constexpr double kDefaultTopK = 50;  // of transformers' GenerationConfig

// Fields of generation_config.json that change even greedy decoding, with their neutral values.
const std::pair<const char*, json> kUnappliedFields[] = {{"no_repeat_ngram_size", 0},
                                                         {"min_length", 0},
                                                         {"min_new_tokens", nullptr},
                                                         {"bad_words_ids", nullptr},
                                                         {"suppress_tokens", nullptr},
                                                         {"stop_strings", nullptr},
                                                         {"begin_suppress_tokens", nullptr},
                                                         {"forced_bos_token_id", nullptr},
                                                         {"sequence_bias", nullptr},
                                                         {"forced_eos_token_id", nullptr},
                                                         {"num_beams", 1},
                                                         {"encoder_repetition_penalty", 1.0},
                                                         {"exponential_decay_length_penalty", nullptr}};

void note_unapplied_fields(const json& generation, std::vector<std::string>* notes) {
  std::string fields;
  for (const auto& [name, neutral] : kUnappliedFields)
    if (generation.contains(name) && !generation[name].is_null() && generation[name] != neutral)
      fields += (fields.empty() ? "" : ", ") + std::string(name) + " " + generation[name].dump().substr(0, 40);
  if (!fields.empty())
    notes->push_back(std::string(kGenerationConfig) + " has " + fields + ": a blob does not hold these settings");
}

// A number of the file, which may be null; `absent` without one.
double number_of(const json& generation, const char* name, double absent) {
  if (!generation.contains(name) || generation[name].is_null()) return absent;
  const json& value = generation[name];
  if (!value.is_number()) fail("%s: %s is %.100s, expected a number", kGenerationConfig, name, value.dump().c_str());
  return value.get<double>();
}

}  // namespace

void add_sampling(const Companions& files, fbs::TextT* text, std::vector<std::string>* notes) {
  const json generation = read_generation_config(files);
  if (generation.is_null()) return;
  note_unapplied_fields(generation, notes);
  const bool samples = generation.value("do_sample", json()) == true;
  fbs::SamplingT sampling;
  sampling.repetition_penalty = static_cast<float>(number_of(generation, "repetition_penalty", 1));
  if (samples) {
    const double top_k = number_of(generation, "top_k", kDefaultTopK);
    sampling.temperature = static_cast<float>(number_of(generation, "temperature", 1));
    sampling.top_k = top_k >= 0 && top_k <= INT32_MAX ? static_cast<int32_t>(top_k) : -1;
    sampling.top_p = static_cast<float>(number_of(generation, "top_p", 1));
    sampling.min_p = static_cast<float>(number_of(generation, "min_p", 0));
  }
  if (!samples && sampling.repetition_penalty == 1) return;
  const Sampling checked{.temperature = sampling.temperature,
                         .top_k = sampling.top_k,
                         .top_p = sampling.top_p,
                         .min_p = sampling.min_p,
                         .repetition_penalty = sampling.repetition_penalty,
                         .bias = {},
                         .stop = {}};
  if (const Status status = Sampler::check(checked, 0); !status.ok()) {
    notes->push_back(std::string(kGenerationConfig) +
                     ": the recommended sampling is left out: " + status.message().data());
    return;
  }
  text->sampling = std::make_unique<fbs::SamplingT>(sampling);
}

}  // namespace ferry
