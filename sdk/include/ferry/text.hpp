// SPDX-License-Identifier: Apache-2.0
// text.hpp - text.h for C++17 and later: tokenizers and text generation.
//
//   ferry::Result<ferry::Model> model = ferry::Model::open("stories.ferry");
//   if (!model) return fail(model.error());
//   ferry::Result<ferry::Generator> story = ferry::Generator::create(*model);
//   if (!story) return fail(story.error());
//   if (ferry::Status put = story->append("Once upon a time"); !put) return fail(put.error());
//   while (!story->ended()) {
//     if (ferry::Result<int32_t> token = story->next(); !token) return fail(token.error());
//     show(story->text());
//   }
//
// Errors, ownership and exceptions: as in ferry.hpp. It needs libferry_text.
#ifndef FERRY_TEXT_HPP_
#define FERRY_TEXT_HPP_

#include <ferry/text.h>
#include <ferry/ferry.hpp>

namespace ferry {
inline namespace app {

// The tokenizer and chat template of a model's blob.
class Text {
 public:
  Text() = default;
  // Takes ownership of a handle of the C API.
  explicit Text(ferry_text* text) : text_(text) {}
  ~Text() { ferry_text_close(text_); }
  Text(Text&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  Text& operator=(Text&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }

  static Result<Text> open(const Model& model) {
    ferry_text* text;
    Status status = ferry_text_open(model.get(), &text);
    if (!status) return status;
    return Text(text);
  }

  // The token ids of a text; `special` adds the tokens that begin and end a text.
  Result<std::vector<int32_t>> encode(const std::string& words, bool special = true) const {
    size_t count = 0;
    Status status = ferry_text_encode(text_, words.data(), words.size(), special, nullptr, &count);
    if (!status) return status;
    std::vector<int32_t> tokens(count);
    status = ferry_text_encode(text_, words.data(), words.size(), special, tokens.data(), &count);
    if (!status) return status;
    return tokens;
  }
  // The text of token ids.
  Result<std::string> decode(const std::vector<int32_t>& tokens) const {
    size_t bytes = 0;
    Status status = ferry_text_decode(text_, tokens.data(), tokens.size(), nullptr, &bytes);
    if (!status) return status;
    std::string words(bytes, '\0');
    status = ferry_text_decode(text_, tokens.data(), tokens.size(), &words[0], &bytes);
    if (!status) return status;
    return words;
  }
  // Renders a conversation with the chat template. `chat` is JSON as in ferry_text_render().
  Result<std::string> render(const std::string& chat) const {
    size_t bytes = 0;
    Status status = ferry_text_render(text_, chat.data(), chat.size(), nullptr, &bytes);
    if (!status) return status;
    std::string words(bytes, '\0');
    status = ferry_text_render(text_, chat.data(), chat.size(), &words[0], &bytes);
    if (!status) return status;
    return words;
  }
  ferry_text* get() const { return text_; }

 private:
  ferry_text* text_ = nullptr;
};

// ferry_sampling with the defaults: greedy.
struct Sampling : ferry_sampling {
  Sampling() { ferry_sampling_init(this); }
};

class Generator {
 public:
  Generator() = default;
  // Takes ownership of a handle of the C API.
  explicit Generator(ferry_generator* generator) : generator_(generator) {}
  ~Generator() { ferry_generator_close(generator_); }
  Generator(Generator&& other) noexcept : generator_(std::exchange(other.generator_, nullptr)) {}
  Generator& operator=(Generator&& other) noexcept {
    std::swap(generator_, other.generator_);
    return *this;
  }

  static Result<Generator> create(const Model& model, const SessionOptions& options = SessionOptions()) {
    ferry_generator* generator;
    Status status = ferry_generator_create(model.get(), &options, &generator);
    if (!status) return status;
    return Generator(generator);
  }

  Status set_sampling(const Sampling& sampling) { return ferry_generator_set_sampling(generator_, &sampling); }
  // FERRY_NOT_FOUND: the model's authors recommend nothing.
  Result<Sampling> recommended_sampling() const {
    Sampling sampling;
    Status status = ferry_generator_recommended_sampling(generator_, &sampling);
    if (!status) return status;
    return sampling;
  }
  Status append(const std::vector<int32_t>& tokens) {
    return ferry_generator_append(generator_, tokens.data(), tokens.size());
  }
  Status append(const std::string& text) { return ferry_generator_append_text(generator_, text.data(), text.size()); }
  // Appends an image, or adds one for a placeholder of the text: see text.h.
  Status append_image(const ferry_image& image) { return ferry_generator_append_image(generator_, &image); }
  Status add_image(const ferry_image& image) { return ferry_generator_add_image(generator_, &image); }
  // Replaces the text. Results for a common prefix are kept.
  Status set(const std::vector<int32_t>& tokens) {
    return ferry_generator_set(generator_, tokens.data(), tokens.size());
  }
  // The same with text from Text::render().
  Status set(const std::string& text) { return ferry_generator_set_text(generator_, text.data(), text.size()); }
  // Generates the next token and appends it to the text.
  Result<int32_t> next() {
    int32_t token = 0;
    Status status = ferry_generator_next(generator_, &token);
    if (!status) return status;
    return token;
  }
  // The whole characters that the last next() completed.
  std::string text() const {
    size_t bytes = 0;
    const char* text = ferry_generator_text(generator_, &bytes);
    return std::string(text, bytes);
  }
  // Natural logarithm of the last token's probability, regardless of sampling.
  float log_probability() const { return ferry_generator_log_probability(generator_); }
  bool ended() const { return ferry_generator_ended(generator_); }
  std::vector<int32_t> tokens() const {
    size_t count = 0;
    const int32_t* tokens = ferry_generator_tokens(generator_, &count);
    return std::vector<int32_t>(tokens, tokens + count);
  }
  size_t max_length() const { return ferry_generator_max_length(generator_); }
  // Saves text, random numbers, KV cache and a note of the app as one file.
  Status save(const char* path, const std::string& note = std::string()) const {
    return ferry_generator_save(generator_, path, note.data(), note.size());
  }
  Status load(const char* path) { return ferry_generator_load(generator_, path); }
  // The note of the file that the last load() read.
  std::string note() const {
    size_t bytes = 0;
    const void* note = ferry_generator_note(generator_, &bytes);
    return std::string(static_cast<const char*>(note), bytes);
  }
  Status reset() { return ferry_generator_reset(generator_); }
  // Makes another thread's next() fail with FERRY_CANCELLED.
  void cancel() { ferry_generator_cancel(generator_); }
  ferry_generator* get() const { return generator_; }

 private:
  ferry_generator* generator_ = nullptr;
};

}  // namespace app
}  // namespace ferry

#endif  // FERRY_TEXT_HPP_
