#include "cli/chat/settings.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "cli/text.h"
#include "sdk/text/strings.h"
#include "sdk/text/template/template.h"
#include "sdk/text/verify_text.h"
#include "text_generated.h"

namespace ferry::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kDefault = "default";
const std::vector<std::string> kSampling = {"temperature", "top_k", "top_p", "min_p",     "repetition_penalty",
                                            "seed",        "bias",  "stop",  "max_tokens"};

float real_of(const std::string& name, const std::string& value) {
  char* end = nullptr;
  const float number = std::strtof(value.c_str(), &end);
  if (end == value.c_str() || *end != '\0' || !std::isfinite(number))
    fail("/set %s %s: expected a number, as in /set %s 0.5", name.c_str(), value.c_str(), name.c_str());
  return number;
}

int whole_of(const std::string& name, const std::string& value, int minimum) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (end == value.c_str() || *end != '\0' || errno != 0 || number < minimum || number > INT32_MAX)
    fail("/set %s %s: expected an integer of at least %d", name.c_str(), value.c_str(), minimum);
  return static_cast<int>(number);
}

// JSON, as Python writes constants, or else the text itself.
ordered_json variable_of(const std::string& value) {
  if (value == "True" || value == "False") return value == "True";
  if (value == "None") return nullptr;
  ordered_json json = ordered_json::parse(value, nullptr, false);
  return json.is_discarded() ? ordered_json(value) : json;
}

const fbs::Text* text_part_of(const ModelHandle& model) {
  size_t bytes = 0;
  const void* data = ferry_model_text(model.get(), &bytes);
  const fbs::Text* text = nullptr;
  check(read_text(std::span(static_cast<const std::byte*>(data), bytes), &text));
  return text;
}

}  // namespace

std::vector<std::string> template_names(const ModelHandle& model) {
  std::unique_ptr<jinja::Template> made;
  if (const Status status = jinja::Template::parse(view(text_part_of(model)->chat_template()), &made); !status.ok())
    fail("the chat template, %s", status.message().data());
  std::vector<std::string> names;
  for (const std::string_view name : made->names())
    if (name != "messages" && name != "add_generation_prompt") names.emplace_back(name);
  return names;
}

bool Settings::set_sampling_field(const std::string& name, const std::string& value, SamplingOptions* o) const {
  const bool reset = value == kDefault;
  const auto real = [&] { return reset ? std::optional<float>() : real_of(name, value); };
  if (name == "temperature")
    o->temperature = real();
  else if (name == "top_p")
    o->top_p = real();
  else if (name == "min_p")
    o->min_p = real();
  else if (name == "repetition_penalty")
    o->repetition_penalty = real();
  else if (name == "top_k")
    o->top_k = reset ? std::optional<int>() : whole_of(name, value, 0);
  else if (name == "seed")
    o->seed = reset ? 0 : whole_of(name, value, 0);
  else if (name == "bias" || name == "stop")
    (name == "bias" ? o->bias : o->stop) = reset ? std::vector<std::string>() : std::vector<std::string>{value};
  else
    return false;
  return true;
}

void Settings::set(const std::string& words) {
  const size_t space = words.find(' '), begin = words.find_first_not_of(' ', space);
  const std::string name = words.substr(0, space);
  if (begin == std::string::npos)
    fail("/set %s: which value? As in /set temperature 0.2; 'default' resets it", name.c_str());
  const std::string value = words.substr(begin, words.find_last_not_of(' ') + 1 - begin);
  std::string field = name;
  std::replace(field.begin(), field.end(), '-', '_');
  if (field == "max_tokens") {
    max_tokens_ = value == kDefault ? 0 : whole_of(field, value, 1);
    return;
  }
  SamplingOptions sampling = sampling_;
  if (set_sampling_field(field, value, &sampling)) {
    set_sampling(sampling, Sampling::Random, generator_);
    sampling_ = std::move(sampling);
    return;
  }
  if (name == "messages" || name == "add_generation_prompt")
    fail("/set %s: it is the conversation's own", name.c_str());
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
    std::vector<std::string> known = kSampling;
    known.insert(known.end(), names_.begin(), names_.end());
    fail("/set %s: this is neither a sampling option nor a variable of the model's chat template%s; /set lists both",
         name.c_str(), did_you_mean(name, known).c_str());
  }
  conversation_.set_variable(name, value == kDefault ? ordered_json() : variable_of(value));
}

std::string Settings::text() const {
  std::string out;
  const auto line = [&](const std::string& name, const std::string& value) {
    out += printable(name + " " + value) + "\n";
  };
  const auto real = [&](const std::string& name, const std::optional<float>& value) {
    if (value) line(name, ordered_json(std::round(*value * 1e6) / 1e6).dump());
  };
  real("temperature", sampling_.temperature);
  if (sampling_.top_k) line("top_k", std::to_string(*sampling_.top_k));
  real("top_p", sampling_.top_p);
  real("min_p", sampling_.min_p);
  real("repetition_penalty", sampling_.repetition_penalty);
  line("seed", std::to_string(sampling_.seed));
  for (const std::string& bias : sampling_.bias) line("bias", bias);
  for (const std::string& stop : sampling_.stop) line("stop", stop);
  if (max_tokens_ > 0) line("max_tokens", std::to_string(max_tokens_));
  for (const auto& [name, value] : conversation_.variables().items())
    line(name, value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  return out + "Sampling: " + join(kSampling, ", ") + "\nNames in the chat template: " + join(names_, ", ") + "\n";
}

}  // namespace ferry::cli
