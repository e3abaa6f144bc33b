#include <ferry/text.h>

#include <cstring>

#include "sdk/api/handles.h"
#include "sdk/text/generator.h"

struct ferry_generator {
  std::unique_ptr<ferry_session> session;
  std::unique_ptr<ferry::Generator> generator;  // after what it runs
};

namespace {

using ferry::error;
using ferry::guarded;
using ferry::Status;

// The model's, made when it is first asked for; null where the blob has none.
Status find_tokenizer(const ferry_model& model, std::shared_ptr<const ferry::Tokenizer>* out) {
  const ferry::fbs::Tokenizer* table = model.model->root().tokenizer();
  if (table == nullptr) return {};
  const std::lock_guard lock(model.tokenizer_mutex);
  if (model.tokenizer == nullptr) {
    std::unique_ptr<ferry::Tokenizer> made;
    FERRY_TRY(ferry::Tokenizer::create(*table, &made));
    model.tokenizer = std::move(made);
  }
  *out = model.tokenizer;
  return {};
}

Status require_tokenizer(const ferry_model& model, std::shared_ptr<const ferry::Tokenizer>* out) {
  FERRY_TRY(find_tokenizer(model, out));
  if (*out != nullptr) return {};
  return error(FERRY_NOT_FOUND, "'%.64s' has no tokenizer", ferry::text(model.model->graph().name()));
}

// `values` to the caller, who has room for so many, as text.h says of *count.
template <typename T>
Status hand_out(const char* function, const T* values, size_t size, T* destination, size_t room, size_t* count) {
  *count = size;
  if (destination == nullptr) return {};
  if (room < size) return error(FERRY_INVALID_ARGUMENT, "%s: room for %zu, %zu are needed", function, room, size);
  std::copy_n(values, size, destination);
  return {};
}

Status tokenize(const ferry_model& model, std::string_view text, std::vector<int32_t>* tokens) {
  std::shared_ptr<const ferry::Tokenizer> tokenizer;
  FERRY_TRY(require_tokenizer(model, &tokenizer));
  return tokenizer->encode(text, {}, tokens);
}

Status detokenize(const ferry_model& model, const int32_t* tokens, size_t count, std::string* text) {
  std::shared_ptr<const ferry::Tokenizer> tokenizer;
  FERRY_TRY(require_tokenizer(model, &tokenizer));
  ferry::TextDecoder decoder(*tokenizer);
  for (size_t i = 0; i < count; ++i) {
    if (tokens[i] < 0 || tokens[i] >= tokenizer->size())
      return error(FERRY_INVALID_ARGUMENT, "token %d is not among the tokenizer's %d pieces", tokens[i],
                   tokenizer->size());
    decoder.append(tokens[i], text);
  }
  decoder.finish(text);
  return {};
}

Status create(const ferry_model& model, ferry_generator* out) {
  std::shared_ptr<const ferry::Tokenizer> tokenizer;
  FERRY_TRY(find_tokenizer(model, &tokenizer));
  return ferry::Generator::create(*out->session->session, std::move(tokenizer), &out->generator);
}

}  // namespace

ferry_status ferry_model_tokenize(ferry_model* model, const char* text, size_t bytes, int32_t* tokens, size_t* count) {
  FERRY_REQUIRE(count);
  FERRY_REQUIRE(model);
  FERRY_REQUIRE(text);
  const size_t room = std::exchange(*count, 0);
  return guarded([&, function = __func__]() -> Status {
    std::vector<int32_t> ids;
    FERRY_TRY(tokenize(*model, {text, bytes}, &ids));
    return hand_out(function, ids.data(), ids.size(), tokens, room, count);
  });
}

ferry_status ferry_model_detokenize(ferry_model* model, const int32_t* tokens, size_t count, char* text,
                                    size_t* bytes) {
  FERRY_REQUIRE(bytes);
  FERRY_REQUIRE(model);
  if (count > 0) FERRY_REQUIRE(tokens);
  const size_t room = std::exchange(*bytes, 0);
  return guarded([&, function = __func__]() -> Status {
    std::string decoded;
    FERRY_TRY(detokenize(*model, tokens, count, &decoded));
    return hand_out(function, decoded.data(), decoded.size(), text, room, bytes);
  });
}

ferry_status ferry_generator_create(ferry_model* model, const ferry_session_options* options,
                                    ferry_generator** generator) {
  FERRY_REQUIRE(generator);
  *generator = nullptr;
  FERRY_REQUIRE(model);
  ferry_session* session = nullptr;
  if (const ferry_status made = ferry_session_create(model, options, &session); made != FERRY_OK) return made;
  std::unique_ptr<ferry_session> owned(session);
  return guarded([&]() -> Status {
    auto out = std::make_unique<ferry_generator>();
    out->session = std::move(owned);
    FERRY_TRY(create(*model, out.get()));
    *generator = out.release();
    return {};
  });
}

void ferry_generator_close(ferry_generator* generator) { delete generator; }

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

bool ferry_generator_ended(const ferry_generator* generator) {
  return generator != nullptr && generator->generator->ended();
}

size_t ferry_generator_length(const ferry_generator* generator) {
  return generator != nullptr ? static_cast<size_t>(generator->generator->length()) : 0;
}

size_t ferry_generator_max_length(const ferry_generator* generator) {
  return generator != nullptr ? static_cast<size_t>(generator->generator->max_length()) : 0;
}

ferry_status ferry_generator_reset(ferry_generator* generator) {
  FERRY_REQUIRE(generator);
  return guarded([&] { return generator->generator->reset(); });
}

ferry_session* ferry_generator_session(ferry_generator* generator) {
  return generator != nullptr ? generator->session.get() : nullptr;
}
