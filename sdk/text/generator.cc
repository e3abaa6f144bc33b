#include "sdk/text/generator.h"

#include <ferry/task.h>

#include <algorithm>
#include <cstring>

#include "sdk/attempt.h"

namespace ferry {

Status Generator::create(ferry_model* model, ferry_session_options options, std::unique_ptr<Generator>* out) {
  auto made = std::make_unique<Generator>();
  Generator& g = *made;
  g.name_ = ferry_model_name(model);
  ferry_task_info info = {};
  info.struct_size = sizeof info;
  FERRY_TRY(status_of(ferry_model_task(model, &info)));
  if (info.kind != FERRY_TASK_TEXT) return error(FERRY_UNSUPPORTED, "'%.64s' is not a language model", g.name_.c_str());
  FERRY_TRY(ModelText::open(model, &g.model_text_));
  if (options.graph == nullptr) options.graph = g.model_text_->graph();
  ferry_session* session = nullptr;
  FERRY_TRY(status_of(ferry_session_create(model, &options, &session)));
  g.session_.reset(session);
  ferry_states* states = nullptr;
  if (const ferry_status status = ferry_session_states(session, &states); status == FERRY_NOT_FOUND)
    return error(FERRY_UNSUPPORTED, "'%.64s' has no states", g.name_.c_str());
  else
    FERRY_TRY(status_of(status));
  g.states_.reset(states);
  ferry_tensor ids, logits;
  FERRY_TRY(status_of(ferry_model_input_bound(model, 0, &ids)));
  FERRY_TRY(status_of(ferry_model_output(model, 0, &logits)));
  g.max_run_ = ids.shape[1];
  g.vocabulary_ = logits.shape[2];
  g.max_length_ = ferry_states_bound(states);
  if (const fbs::Images* images = g.model_text_->images()) {
    if (ferry_model_input_count(model) != 4)
      return error(FERRY_CORRUPT, "'%.64s': %zu inputs of a model with images, expected 4", g.name_.c_str(),
                   ferry_model_input_count(model));
    FERRY_TRY(ImageReader::open(model, *images, options, session, &g.images_));
  }
  FERRY_TRY(g.reset());
  *out = std::move(made);
  return {};
}

Status Generator::check(std::span<const int32_t> tokens, size_t before) const {
  for (const int32_t token : tokens) {
    if (token >= 0 && token < vocabulary_) continue;
    const bool has_piece = token >= 0 && tokenizer() && token < tokenizer()->size();
    const std::string piece = has_piece ? " ('" + std::string(tokenizer()->piece(token)) + "')" : std::string();
    return error(FERRY_INVALID_ARGUMENT, "token %d%.64s is not in the model's vocabulary of %d", token, piece.c_str(),
                 vocabulary_);
  }
  if (tokens.size() > static_cast<size_t>(max_length_) - before)
    return error(FERRY_STATE_FULL, "the text has %zu tokens, %zu more exceed the model's maximum of %d", before,
                 tokens.size(), max_length_);
  return {};
}

std::optional<TextDecoder> Generator::decoder_behind(std::span<const int32_t> tokens) const {
  if (tokenizer() == nullptr) return std::nullopt;
  std::optional<TextDecoder> decoder(*tokenizer());
  std::string ignored;
  for (const int32_t token : tokens)
    if (token < tokenizer()->size()) decoder->append(token, &ignored);
  return decoder;
}

Status Generator::append(std::span<const int32_t> tokens) {
  FERRY_TRY(check(tokens, tokens_.size()));
  std::vector<int32_t> all = tokens_;
  all.insert(all.end(), tokens.begin(), tokens.end());
  return set(all);
}

Status Generator::append_text(std::string_view text) {
  FERRY_TRY(model_text_->require_tokenizer());
  std::vector<int32_t> tokens;
  const bool begins = tokens_.empty();
  FERRY_TRY(tokenizer()->encode(text, {.special = begins, .beginning = begins}, &tokens));
  expand(places_.images(), &tokens);
  return append(tokens);
}

Status Generator::require_images() const {
  if (images_ != nullptr) return {};
  return error(FERRY_UNSUPPORTED, "'%.64s' accepts text only, no images", name_.c_str());
}

Status Generator::add_image(const ferry_image& image) {
  FERRY_TRY(require_images());
  return images_->see(image);
}

Status Generator::add_patches(std::span<const float> patches, ImageGrid grid) {
  FERRY_TRY(require_images());
  return images_->see_patches(patches, grid);
}

Status Generator::append_image(const ferry_image& image) {
  FERRY_TRY(require_images());
  if (places_.images() != images_->images().size())
    return error(FERRY_INVALID_ARGUMENT, "of %zu images %zu are in the text: append the tokens of the others first",
                 images_->images().size(), places_.images());
  FERRY_TRY(images_->see(image));
  const Status status = append(images_->tokens_of_last());
  if (!status.ok()) images_->forget_last();
  return status;
}

size_t Generator::expand(size_t before, std::vector<int32_t>* tokens) const {
  if (images_ == nullptr) return 0;
  std::vector<int32_t> all;
  for (const int32_t token : *tokens) {
    const bool known = token == images_->token() && before < images_->images().size();
    all.insert(all.end(), known ? static_cast<size_t>(images_->images()[before].size()) : 1, token);
    before += known ? 1 : 0;
  }
  *tokens = std::move(all);
  return before;
}

Status Generator::reset() {
  FERRY_TRY(set({}));
  if (images_ != nullptr) images_->forget();
  return {};
}

Status Generator::set_text(std::string_view text) {
  FERRY_TRY(model_text_->require_tokenizer());
  std::vector<int32_t> tokens;
  FERRY_TRY(tokenizer()->encode(text, {.special = false}, &tokens));
  const size_t seen = images_ != nullptr ? images_->images().size() : 0;
  if (const size_t named = expand(0, &tokens); named < seen)
    return error(FERRY_INVALID_ARGUMENT, "the text has tokens for %zu of the %zu images that were added", named, seen);
  return set(tokens);
}

Status Generator::set(std::span<const int32_t> tokens) {
  FERRY_TRY(check(tokens, 0));
  // Nothing has changed yet if these allocations fail.
  std::vector<int32_t> kept(tokens.begin(), tokens.end());
  std::optional<TextDecoder> decoder = decoder_behind(tokens);
  StopWords stop_words(sampler_.sampling().stop);
  TokenPositions places(images_ != nullptr ? images_->token() : -1);
  if (images_ != nullptr) FERRY_TRY(places.append(tokens, images_->images()));
  const auto common = static_cast<size_t>(
      std::mismatch(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(done_), kept.begin(), kept.end())
          .first -
      tokens_.begin());
  // The last token is processed again if necessary, because its logits are needed.
  FERRY_TRY(keep_run(common == kept.size() && common > 0 ? common - 1 : common));
  tokens_ = std::move(kept);
  decoder_ = std::move(decoder);
  stop_words_ = std::move(stop_words);
  places_ = std::move(places);
  text_.clear();
  ended_ = false;
  return {};
}

Status Generator::write_inputs(size_t count) {
  const std::span<const int32_t> tokens = std::span(tokens_).subspan(done_, count);
  if (images_ != nullptr) return images_->write(session(), tokens, places_, done_);
  const int32_t shape[] = {1, static_cast<int32_t>(count)};
  FERRY_TRY(status_of(ferry_session_resize(session(), 0, shape, 2)));
  ferry_tensor ids;
  FERRY_TRY(status_of(ferry_session_input(session(), 0, &ids)));
  std::memcpy(ids.data, tokens.data(), tokens.size_bytes());
  return {};
}

Status Generator::keep_run(size_t keep) {
  if (keep >= done_) return {};
  const ferry_status status = ferry_states_truncate(states_.get(), static_cast<int32_t>(keep));
  done_ = keep;
  if (status != FERRY_UNSUPPORTED) return status_of(status);
  done_ = 0;
  return status_of(ferry_states_reset(states_.get()));
}

Status Generator::save(const char* path, std::string_view note) const {
  if (places_.images() > 0)
    return error(FERRY_UNSUPPORTED, "'%.64s': a text with images cannot be saved", name_.c_str());
  const std::string text = written({.tokens = tokens_,
                                    .done = static_cast<uint32_t>(done_),
                                    .ended = ended_,
                                    .random = random_.state(),
                                    .held = stop_words_.held(),
                                    .note = std::string(note)});
  return status_of(ferry_states_save_with(states_.get(), path, text.data(), text.size()));
}

Status Generator::check_saved(const SavedText& saved, int32_t length) const {
  FERRY_TRY(check(saved.tokens, 0));
  if (saved.done == static_cast<uint32_t>(length)) return {};
  return error(FERRY_CORRUPT, "a text of which %u tokens were run, with states of %d", saved.done, length);
}

Status Generator::load(const char* path) {
  SavedText saved;
  std::optional<TextDecoder> decoder;
  StopWords stop_words(sampler_.sampling().stop);
  TokenPositions places(images_ != nullptr ? images_->token() : -1);
  auto take = [&](std::span<const std::byte> note, int32_t length) -> Status {
    Status status = read_saved_text(note, &saved);
    if (status.ok()) status = check_saved(saved, length);
    if (status.ok() && images_ != nullptr) status = places.append(saved.tokens, {});
    if (!status.ok()) return error(status.code(), "'%s': %s", path, status.message().data());
    decoder = decoder_behind(saved.tokens);
    std::string ignored;
    if (decoder && saved.ended && !saved.tokens.empty() && model_text_->ends_text(saved.tokens.back()))
      decoder->finish(&ignored);
    stop_words.hold(std::move(saved.held));
    return {};
  };
  const auto read = [](void* user, const void* note, size_t bytes, int32_t length) {
    const Status status = attempt([&] {
      return (*static_cast<decltype(take)*>(user))({static_cast<const std::byte*>(note), bytes}, length);
    });
    return status.ok() ? FERRY_OK : ferry_set_last_error(status.code(), status.message().data());
  };
  FERRY_TRY(status_of(ferry_states_load_with(states_.get(), path, read, &take)));
  tokens_ = std::move(saved.tokens);
  done_ = saved.done;
  places_ = std::move(places);
  if (images_ != nullptr) images_->forget();
  random_ = Random(saved.random);
  decoder_ = std::move(decoder);
  stop_words_ = std::move(stop_words);
  note_ = std::move(saved.note);
  text_.clear();
  chosen_ = -1;
  ended_ = saved.ended;
  // The file does not contain the last token's logits.
  return keep_run(tokens_.empty() ? 0 : tokens_.size() - 1);
}

Status Generator::run_pending() {
  while (done_ < tokens_.size()) {
    if (cancelled_) return error(FERRY_CANCELLED, "the run was cancelled");
    const size_t count = std::min(tokens_.size() - done_, static_cast<size_t>(max_run_));
    chosen_ = -1;
    FERRY_TRY(write_inputs(count));
    FERRY_TRY(status_of(ferry_session_run(session())));
    done_ += count;
  }
  return {};
}

Status Generator::last_logits(std::span<const float>* logits) const {
  ferry_tensor all;
  FERRY_TRY(status_of(ferry_session_output(session(), 0, &all)));
  const auto row = static_cast<size_t>(vocabulary_);
  const size_t count = all.bytes / sizeof(float);
  if (all.rank != 3 || all.shape[2] != vocabulary_ || count < row)  // a hostile graph, at another than its default size
    return error(FERRY_CORRUPT, "'%.64s': logits of %zu elements, expected a multiple of the vocabulary, %d",
                 name_.c_str(), count, vocabulary_);
  *logits = {static_cast<const float*>(all.data) + (count - row), row};
  return {};
}

Status Generator::next(int32_t* token) {
  if (tokens_.empty()) return error(FERRY_INVALID_ARGUMENT, "the text is empty: append tokens or text first");
  if (tokens_.size() == static_cast<size_t>(max_length_))
    return error(FERRY_STATE_FULL, "the text has %d tokens, which is the model's maximum", max_length_);
  if (places_.within_image())
    return error(FERRY_INVALID_ARGUMENT, "the text ends within an image: append the rest of its tokens first");
  cancelled_ = false;
  FERRY_TRY(run_pending());
  std::span<const float> logits;
  FERRY_TRY(last_logits(&logits));
  // Nothing has changed yet if the following allocations fail.
  Random random = random_;
  int32_t chosen = 0;
  FERRY_TRY(sampler_.choose(logits, tokens_, &random, &chosen));
  std::optional<TextDecoder> decoder = decoder_;
  StopWords stop_words = stop_words_;
  std::string piece, text;
  bool ended = model_text_->ends_text(chosen);
  if (decoder && chosen < tokenizer()->size()) decoder->append(chosen, &piece);
  if (decoder && ended) decoder->finish(&piece);
  if (stop_words.append(piece, &text)) {
    ended = true;
  } else if (ended) {
    stop_words.finish(&text);
  }
  tokens_.push_back(chosen);
  if (images_ != nullptr) places_.append_plain();
  random_ = random;
  decoder_ = std::move(decoder);
  stop_words_ = std::move(stop_words);
  text_ = std::move(text);
  chosen_ = chosen;
  ended_ = ended;
  *token = chosen;
  return {};
}

Status Generator::set_sampling(Sampling sampling, uint64_t seed) {
  FERRY_TRY(Sampler::check(sampling, vocabulary_));
  StopWords stop_words(sampling.stop);
  sampler_ = Sampler(std::move(sampling));
  random_ = Random(seed);
  stop_words_ = std::move(stop_words);
  return {};
}

Status Generator::recommended_sampling(Sampling* out) const {
  const fbs::Sampling* table = model_text_->sampling();
  if (table == nullptr) return error(FERRY_NOT_FOUND, "the authors of '%.64s' recommend no sampling", name_.c_str());
  *out = sampling_of(*table);
  return {};
}

float Generator::log_probability() const {
  std::span<const float> logits;
  return chosen_ >= 0 && last_logits(&logits).ok() ? ferry::log_probability(logits, chosen_) : 0;
}

void Generator::cancel() {
  cancelled_ = true;
  ferry_session_cancel(session());
}

}  // namespace ferry
