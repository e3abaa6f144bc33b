#include <ferry/text.h>

#include <cstddef>
#include <cstdio>

#include "sdk/api/guard.h"
#include "sdk/text/generator.h"

struct ferry_text : ferry::Handle {
  std::unique_ptr<ferry::ModelText> text;
};

struct ferry_generator : ferry::Handle {
  std::unique_ptr<ferry::Generator> generator;
};

namespace {

using ferry::error;
using ferry::guarded;
using ferry::Status;

// Copies `values` to the caller's array, with the rules of text.h for *count.
template <typename T>
Status hand_out(const char* function, const T* values, size_t size, T* destination, size_t room, size_t* count) {
  *count = size;
  if (destination == nullptr) return {};
  if (room < size) return error(FERRY_INVALID_ARGUMENT, "%s: room for %zu, %zu are needed", function, room, size);
  std::copy_n(values, size, destination);
  return {};
}

Status encode(const ferry::ModelText& text, std::string_view words, bool special, std::vector<int32_t>* tokens) {
  FERRY_TRY(text.require_tokenizer());
  return text.tokenizer()->encode(words, {.special = special}, tokens);
}

Status decode(const ferry::ModelText& text, std::span<const int32_t> tokens, std::string* words) {
  FERRY_TRY(text.require_tokenizer());
  ferry::TextDecoder decoder(*text.tokenizer());
  for (const int32_t token : tokens) {
    if (token < 0 || token >= text.tokenizer()->size())
      return error(FERRY_INVALID_ARGUMENT, "token %d is not among the tokenizer's %d pieces", token,
                   text.tokenizer()->size());
    decoder.append(token, words);
  }
  decoder.finish(words);
  return {};
}

void add_quoted(std::string_view text, std::string* json) {
  *json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') *json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      *json += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      *json += escape;
    }
  }
  *json += '"';
}

std::string as_json(std::span<const ferry_message> messages) {
  std::string json = R"({"add_generation_prompt": true, "messages": [)";
  const char* between = "";
  for (const ferry_message& message : messages) {
    json += between;
    json += R"({"role": )";
    add_quoted(message.role, &json);
    json += R"(, "content": )";
    add_quoted(message.content, &json);
    json += '}';
    between = ", ";
  }
  return json + "]}";
}

// Reads options of a caller built against any version of ferry.h, as ferry_session_create() does.
Status read_options(const ferry_session_options* given, ferry_session_options* options) {
  ferry_session_options_init(options);
  if (given == nullptr) return {};
  constexpr size_t kFirstVersion = offsetof(ferry_session_options, memory_limit) + sizeof(uint64_t);
  FERRY_TRY(ferry::read_versioned(*given, kFirstVersion, "ferry_session_options", options));
  options->struct_size = sizeof(*options);
  return {};
}

constexpr size_t kFirstSampling = offsetof(ferry_sampling, stop_count) + sizeof(size_t);

Status read_sampling(const ferry_sampling& given, ferry::Sampling* out, uint64_t* seed) {
  ferry_sampling s;
  FERRY_TRY(ferry::read_versioned(given, kFirstSampling, "ferry_sampling", &s));
  if (s.bias_count > 0 && (s.bias_tokens == nullptr || s.bias_values == nullptr))
    return error(FERRY_INVALID_ARGUMENT, "ferry_sampling: bias_count is %zu, and there are no biases", s.bias_count);
  if (s.stop_count > 0 && s.stop == nullptr)
    return error(FERRY_INVALID_ARGUMENT, "ferry_sampling: stop_count is %zu, and stop is NULL", s.stop_count);
  *out = {s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, {}, {}};
  for (size_t i = 0; i < s.bias_count; ++i) out->bias.emplace_back(s.bias_tokens[i], s.bias_values[i]);
  for (size_t i = 0; i < s.stop_count; ++i) {
    if (s.stop[i] == nullptr) return error(FERRY_INVALID_ARGUMENT, "ferry_sampling: stop string %zu is NULL", i);
    out->stop.emplace_back(s.stop[i]);
  }
  *seed = s.seed;
  return {};
}

}  // namespace

ferry_status ferry_text_open(const ferry_model* model, ferry_text** text) {
  FERRY_REQUIRE(text);
  *text = nullptr;
  FERRY_REQUIRE(model);
  return guarded([&]() -> Status {
    auto out = std::make_unique<ferry_text>();
    FERRY_TRY(ferry::ModelText::open(model, &out->text));
    if (out->text->empty()) return out->text->require_tokenizer();
    *text = out.release();
    return {};
  });
}

void ferry_text_close(ferry_text* text) { ferry::close(text, __func__); }

ferry_status ferry_text_encode(const ferry_text* text, const char* words, size_t bytes, bool special, int32_t* tokens,
                               size_t* count) {
  FERRY_REQUIRE(count);
  FERRY_REQUIRE(text);
  FERRY_REQUIRE(words);
  const size_t room = std::exchange(*count, 0);
  return guarded([&, function = __func__]() -> Status {
    std::vector<int32_t> ids;
    FERRY_TRY(encode(*text->text, {words, bytes}, special, &ids));
    return hand_out(function, ids.data(), ids.size(), tokens, room, count);
  });
}

ferry_status ferry_text_decode(const ferry_text* text, const int32_t* tokens, size_t count, char* words,
                               size_t* bytes) {
  FERRY_REQUIRE(bytes);
  FERRY_REQUIRE(text);
  if (count > 0) FERRY_REQUIRE(tokens);
  const size_t room = std::exchange(*bytes, 0);
  return guarded([&, function = __func__]() -> Status {
    std::string decoded;
    FERRY_TRY(decode(*text->text, {tokens, count}, &decoded));
    return hand_out(function, decoded.data(), decoded.size(), words, room, bytes);
  });
}

ferry_status ferry_text_render(const ferry_text* text, const char* chat, size_t chat_bytes, char* words,
                               size_t* bytes) {
  FERRY_REQUIRE(bytes);
  FERRY_REQUIRE(text);
  FERRY_REQUIRE(chat);
  const size_t room = std::exchange(*bytes, 0);
  return guarded([&, function = __func__]() -> Status {
    std::string rendered;
    FERRY_TRY(text->text->render({chat, chat_bytes}, &rendered));
    return hand_out(function, rendered.data(), rendered.size(), words, room, bytes);
  });
}

ferry_status ferry_text_chat(const ferry_text* text, const ferry_message* messages, size_t count, char* words,
                             size_t* bytes) {
  FERRY_REQUIRE(bytes);
  FERRY_REQUIRE(text);
  if (count > 0) FERRY_REQUIRE(messages);
  for (size_t i = 0; i < count; ++i) {
    FERRY_REQUIRE(messages[i].role);
    FERRY_REQUIRE(messages[i].content);
  }
  const size_t room = std::exchange(*bytes, 0);
  return guarded([&, function = __func__]() -> Status {
    std::string rendered;
    FERRY_TRY(text->text->render(as_json({messages, count}), &rendered));
    return hand_out(function, rendered.data(), rendered.size(), words, room, bytes);
  });
}

ferry_status ferry_generator_create(ferry_model* model, const ferry_session_options* options,
                                    ferry_generator** generator) {
  FERRY_REQUIRE(generator);
  *generator = nullptr;
  FERRY_REQUIRE(model);
  return guarded([&]() -> Status {
    auto out = std::make_unique<ferry_generator>();
    ferry_session_options read;
    FERRY_TRY(read_options(options, &read));
    FERRY_TRY(ferry::Generator::create(model, read, &out->generator));
    *generator = out.release();
    return {};
  });
}

void ferry_generator_close(ferry_generator* generator) { ferry::close(generator, __func__); }

void ferry_sampling_init(ferry_sampling* sampling) {
  if (sampling == nullptr) return;
  *sampling = {};
  sampling->struct_size = sizeof(ferry_sampling);
  sampling->top_p = 1;
  sampling->repetition_penalty = 1;
}

ferry_status ferry_generator_set_sampling(ferry_generator* generator, const ferry_sampling* sampling) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(sampling);
  return guarded([&]() -> Status {
    ferry::Sampling read;
    uint64_t seed = 0;
    FERRY_TRY(read_sampling(*sampling, &read, &seed));
    return generator->generator->set_sampling(std::move(read), seed);
  });
}

ferry_status ferry_generator_recommended_sampling(const ferry_generator* generator, ferry_sampling* sampling) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(sampling);
  return guarded([&]() -> Status {
    ferry_sampling given;
    FERRY_TRY(ferry::read_versioned(*sampling, kFirstSampling, "ferry_sampling", &given));
    ferry::Sampling found;
    FERRY_TRY(generator->generator->recommended_sampling(&found));
    sampling->temperature = found.temperature;
    sampling->top_k = found.top_k;
    sampling->top_p = found.top_p;
    sampling->min_p = found.min_p;
    sampling->repetition_penalty = found.repetition_penalty;
    return {};
  });
}

ferry_status ferry_generator_append(ferry_generator* generator, const int32_t* tokens, size_t count) {
  FERRY_REQUIRE(generator);
  if (count > 0) FERRY_REQUIRE(tokens);
  return guarded([&] { return generator->generator->append({tokens, count}); });
}

ferry_status ferry_generator_append_text(ferry_generator* generator, const char* text, size_t bytes) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(text);
  return guarded([&] { return generator->generator->append_text({text, bytes}); });
}

ferry_status ferry_generator_add_image(ferry_generator* generator, const ferry_image* image) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(image);
  return guarded([&] { return generator->generator->add_image(*image); });
}

ferry_status ferry_generator_append_image(ferry_generator* generator, const ferry_image* image) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(image);
  return guarded([&] { return generator->generator->append_image(*image); });
}

ferry_status ferry_generator_set(ferry_generator* generator, const int32_t* tokens, size_t count) {
  FERRY_REQUIRE(generator);
  if (count > 0) FERRY_REQUIRE(tokens);
  return guarded([&] { return generator->generator->set({tokens, count}); });
}

ferry_status ferry_generator_set_text(ferry_generator* generator, const char* text, size_t bytes) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(text);
  return guarded([&] { return generator->generator->set_text({text, bytes}); });
}

ferry_status ferry_generator_next(ferry_generator* generator, int32_t* token) {
  FERRY_REQUIRE(token);
  *token = 0;
  FERRY_REQUIRE(generator);
  return guarded([&] { return generator->generator->next(token); });
}

const char* ferry_generator_text(const ferry_generator* generator, size_t* bytes) {
  const std::string_view text = generator != nullptr ? generator->generator->text() : std::string_view("");
  if (bytes != nullptr) *bytes = text.size();
  return text.data();
}

float ferry_generator_log_probability(const ferry_generator* generator) {
  return generator != nullptr ? generator->generator->log_probability() : 0;
}

bool ferry_generator_ended(const ferry_generator* generator) {
  return generator != nullptr && generator->generator->ended();
}

const int32_t* ferry_generator_tokens(const ferry_generator* generator, size_t* count) {
  const std::span<const int32_t> tokens =
      generator != nullptr ? generator->generator->tokens() : std::span<const int32_t>();
  if (count != nullptr) *count = tokens.size();
  return tokens.data();
}

size_t ferry_generator_max_length(const ferry_generator* generator) {
  return generator != nullptr ? static_cast<size_t>(generator->generator->max_length()) : 0;
}

ferry_status ferry_generator_save(const ferry_generator* generator, const char* path, const void* note,
                                  size_t note_bytes) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(path);
  if (note_bytes > 0) FERRY_REQUIRE(note);
  return guarded([&] { return generator->generator->save(path, {static_cast<const char*>(note), note_bytes}); });
}

ferry_status ferry_generator_load(ferry_generator* generator, const char* path) {
  FERRY_REQUIRE(generator);
  FERRY_REQUIRE(path);
  return guarded([&] { return generator->generator->load(path); });
}

const void* ferry_generator_note(const ferry_generator* generator, size_t* note_bytes) {
  const std::string_view note = generator != nullptr ? generator->generator->note() : std::string_view("");
  if (note_bytes != nullptr) *note_bytes = note.size();
  return note.data();
}

ferry_status ferry_generator_reset(ferry_generator* generator) {
  FERRY_REQUIRE(generator);
  return guarded([&] { return generator->generator->reset(); });
}

void ferry_generator_cancel(ferry_generator* generator) {
  if (generator != nullptr) generator->generator->cancel();
}

ferry_session* ferry_generator_session(ferry_generator* generator) {
  return generator != nullptr ? generator->generator->session() : nullptr;
}
