// Text generation, token by token; each run processes only the new tokens. It uses the C API, because libferry_text is
// a separate library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/text/handle.h"
#include "sdk/text/image_reader.h"
#include "sdk/text/model_text.h"
#include "sdk/text/sampling.h"
#include "sdk/text/saved_text.h"
#include "sdk/text/stop_words.h"

namespace ferry {

class Generator {
 public:
  // `options` as in ferry_session_create(); without a graph, the one that the blob names for generation.
  // FERRY_UNSUPPORTED: `model` is not a language model.
  static Status create(ferry_model* model, ferry_session_options options, std::unique_ptr<Generator>* out);

  // Appends tokens; the next call of next() processes them. FERRY_INVALID_ARGUMENT: an id outside the vocabulary.
  // FERRY_STATE_FULL: the text would exceed max_length().
  Status append(std::span<const int32_t> tokens);
  // Appends text; an empty text starts with the tokenizer's beginning tokens. FERRY_NOT_FOUND: the model has no
  // tokenizer.
  Status append_text(std::string_view text);
  // Encodes another image, for the next image placeholder in the text. In token lists, the placeholder is repeated once
  // per merged patch; in texts it occurs once. FERRY_UNSUPPORTED: the model accepts text only.
  Status add_image(const ferry_image& image);
  // The same with patches, as in ImageReader.
  Status add_patches(std::span<const float> patches, ImageGrid grid);
  // The same, and appends the image's tokens with those that begin and end an image.
  Status append_image(const ferry_image& image);
  // Replaces the text. Results for a common prefix are kept.
  Status set(std::span<const int32_t> tokens);
  // The same with a text that has its own beginning and end tokens.
  Status set_text(std::string_view text);
  // Generates the next token and appends it to the text. If a run fails, the next call continues from there.
  Status next(int32_t* token);
  // Removes the text and its images.
  Status reset();
  // Saves text, random state, states and `note` as one file. FERRY_IO_ERROR. FERRY_UNSUPPORTED: the text has images.
  Status save(const char* path, std::string_view note) const;
  // Restores a saved file; on failure nothing changes. Errors as in States::load().
  Status load(const char* path);
  // The note of the last load().
  std::string_view note() const { return note_; }
  // Settings for the following tokens.
  Status set_sampling(Sampling sampling, uint64_t seed);
  // What the model's authors recommend; FERRY_NOT_FOUND: nothing.
  Status recommended_sampling(Sampling* out) const;
  // Makes a running next() fail with FERRY_CANCELLED. Any thread.
  void cancel();

  // The whole characters that the last next() completed. Valid until the next call.
  std::string_view text() const { return text_; }
  // Whether the last next() generated an end token or completed a stop string.
  bool ended() const { return ended_; }
  // Natural logarithm of the last token's probability.
  float log_probability() const;
  std::span<const int32_t> tokens() const { return tokens_; }
  int32_t max_length() const { return max_length_; }
  // Null: the model has no tokenizer.
  const Tokenizer* tokenizer() const { return model_text_->tokenizer(); }
  ferry_session* session() const { return session_.get(); }

 private:
  Status check(std::span<const int32_t> tokens, size_t before) const;
  Status require_images() const;
  // Repeats each image placeholder in `tokens` once per merged patch. `before` images have their tokens already.
  // Returns how many images have their tokens now.
  size_t expand(size_t before, std::vector<int32_t>* tokens) const;
  // Resizes and writes the inputs of a run over `count` pending tokens.
  Status write_inputs(size_t count);
  Status check_saved(const SavedText& saved, int32_t length) const;
  // Keeps the results of the first `keep` tokens; of none if the network cannot be truncated there.
  Status keep_run(size_t keep);
  Status run_pending();
  Status last_logits(std::span<const float>* logits) const;
  // The decoder's state after `tokens`, at a known start of a character.
  std::optional<TextDecoder> decoder_behind(std::span<const int32_t> tokens) const;

  std::string name_;  // owned by the model
  std::unique_ptr<ModelText> model_text_;
  SessionHandle session_;  // keeps the model open
  StatesHandle states_;
  std::unique_ptr<ImageReader> images_;  // null: the model accepts text only
  TokenPositions places_{-1};            // positions of tokens_, if there may be images
  int32_t max_run_ = 0, max_length_ = 0, vocabulary_ = 0;
  std::vector<int32_t> tokens_;
  size_t done_ = 0;  // number of tokens that have been processed
  Sampler sampler_;
  Random random_{0};
  std::optional<TextDecoder> decoder_;
  StopWords stop_words_;
  std::string text_, note_;
  int32_t chosen_ = -1;  // the next token by the present logits; -1: unknown
  bool ended_ = false;
  std::atomic<bool> cancelled_{false};
};

}  // namespace ferry
