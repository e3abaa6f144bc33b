// A text that a language model goes on with: token after token, each run reading only what is new. It stands on the C
// API: libferry_text is a library of its own.
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
  // `options` as of ferry_session_create(); without a graph, that which the blob has for this. FERRY_UNSUPPORTED:
  // `model` is no language model.
  static Status create(ferry_model* model, ferry_session_options options, std::unique_ptr<Generator>* out);

  // Puts tokens behind the text; they are run when the next one is asked for. FERRY_INVALID_ARGUMENT for an id outside
  // the vocabulary, FERRY_STATE_FULL where the text would exceed max_length().
  Status append(std::span<const int32_t> tokens);
  // The same with text; at the beginning as the tokenizer begins one. FERRY_NOT_FOUND: the model has no tokenizer.
  Status append_text(std::string_view text);
  // Sees another image: the next token in the text that stands for images, with as many behind it as it has
  // squares, stands for it; in texts one such token does. FERRY_UNSUPPORTED: the model reads text alone.
  Status add_image(const ferry_image& image);
  // The same of patches, as ImageReader takes them.
  Status add_patches(std::span<const float> patches, ImageGrid grid);
  // The same, and puts its tokens behind the text, with those that stand around an image.
  Status append_image(const ferry_image& image);
  // Replaces the text. What has been run of a common beginning is kept.
  Status set(std::span<const int32_t> tokens);
  // The same with a text that stands for itself: nothing comes before it or behind it.
  Status set_text(std::string_view text);
  // The next token, which becomes the text's last. Where a run fails, the next call goes on where this one stopped.
  Status next(int32_t* token);
  // Forgets the text and its images.
  Status reset();
  // The text, where the random numbers are, what the network remembers and `note` as one file. FERRY_IO_ERROR,
  // FERRY_UNSUPPORTED: there are images in it.
  Status save(const char* path, std::string_view note) const;
  // Replaces all of these; on failure they stay as they were. As States::load().
  Status load(const char* path);
  // Of the last load().
  std::string_view note() const { return note_; }
  // How tokens are chosen from now on.
  Status set_sampling(Sampling sampling, uint64_t seed);
  // From any thread: a next() at work fails with FERRY_CANCELLED.
  void cancel();

  // What the last next() completed: whole characters. Valid until the next call.
  std::string_view text() const { return text_; }
  // Did the last next() give a token that ends the text, or complete a stop string?
  bool ended() const { return ended_; }
  // Natural logarithm of the probability of the token that the last next() gave.
  float log_probability() const;
  std::span<const int32_t> tokens() const { return tokens_; }
  int32_t max_length() const { return max_length_; }
  // Null: the model has none.
  const Tokenizer* tokenizer() const { return model_text_->tokenizer(); }
  ferry_session* session() const { return session_.get(); }

 private:
  Status check(std::span<const int32_t> tokens, size_t before) const;
  Status require_images() const;
  // Tokens of a text in which one stands for each image, of which `before` have their tokens already. How many have
  // them then.
  size_t expand(size_t before, std::vector<int32_t>* tokens) const;
  // Shapes and writes the inputs of a run over so many of the tokens that have not been run.
  Status write_inputs(size_t count);
  Status check_saved(const SavedText& saved, int32_t length) const;
  // Only the first `keep` tokens count as run, or none where the network cannot go back there.
  Status keep_run(size_t keep);
  Status run_pending();
  Status last_logits(std::span<const float>* logits) const;
  // The decoder behind `tokens`: it knows where a character began.
  std::optional<TextDecoder> decoder_behind(std::span<const int32_t> tokens) const;

  std::string name_;  // the model's
  std::unique_ptr<ModelText> model_text_;
  SessionHandle session_;  // keeps the model open
  StatesHandle states_;
  std::unique_ptr<ImageReader> images_;  // null: the model reads text alone
  TokenPlaces places_{-1};               // of tokens_, where there may be images
  int32_t max_run_ = 0, max_length_ = 0, vocabulary_ = 0;
  std::vector<int32_t> tokens_;
  size_t done_ = 0;  // of them have been run
  Sampler sampler_;
  Random random_{0};
  std::optional<TextDecoder> decoder_;
  StopWords stop_words_;
  std::string text_, note_;
  int32_t chosen_ = -1;  // by the logits that the session holds; -1: none
  bool ended_ = false;
  std::atomic<bool> cancelled_{false};
};

}  // namespace ferry
