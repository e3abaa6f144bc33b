#include "sdk/text/generator.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace ferry {

Generator::Generator(Session& session, std::shared_ptr<const Tokenizer> tokenizer)
    : session_(session), tokenizer_(std::move(tokenizer)) {
  const Model& model = session.model();
  const fbs::Graph& graph = model.graph();
  const fbs::Port& input = *graph.inputs()->Get(0);
  ids_ = input.tensor();
  logits_ = graph.outputs()->Get(0)->tensor();
  const auto* bound = input.bound();
  max_run_ = bound && bound->size() == 2 ? bound->Get(1) : model.shape(ids_)[1];
  vocabulary_ = model.shape(logits_)[2];
  max_length_ = INT32_MAX;
  for (const StateShape& state : session.states()->shapes())
    max_length_ = std::min(max_length_, state.bound[state.axis]);
}

Status Generator::create(Session& session, std::shared_ptr<const Tokenizer> tokenizer,
                         std::unique_ptr<Generator>* out) {
  const fbs::Graph& graph = session.model().graph();
  const fbs::Postprocess* post = graph.postprocess();
  if (!post || post->task() != fbs::Task::Text || !session.states())
    return error(FERRY_UNSUPPORTED, "'%.64s' is no language model that goes on with a text", ferry::text(graph.name()));
  out->reset(new Generator(session, std::move(tokenizer)));
  return (*out)->reset();
}

Status Generator::append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens)
    if (token < 0 || token >= vocabulary_)
      return error(FERRY_INVALID_ARGUMENT, "token %d is not in the model's vocabulary of %d", token, vocabulary_);
  if (tokens.size() > static_cast<size_t>(max_length_ - length_))
    return error(FERRY_STATE_FULL, "the text has %d tokens, %zu more exceed the %d that the model holds", length_,
                 tokens.size(), max_length_);
  // Nothing has changed where there is no memory for this.
  std::optional<TextDecoder> decoder = decoder_;
  std::string ignored;
  for (const int32_t token : tokens)
    if (decoder && token < tokenizer_->size()) decoder->append(token, &ignored);  // it knows where a character began
  pending_.insert(pending_.end(), tokens.begin(), tokens.end());
  decoder_ = std::move(decoder);
  length_ += static_cast<int32_t>(tokens.size());
  ended_ = false;
  text_.clear();
  return {};
}

Status Generator::append_text(std::string_view text) {
  if (!tokenizer_)
    return error(FERRY_NOT_FOUND, "'%.64s' has no tokenizer: it takes token ids only",
                 ferry::text(session_.model().graph().name()));
  std::vector<int32_t> tokens;
  const bool begins = length_ == 0;
  FERRY_TRY(tokenizer_->encode(text, {.bos = begins, .space = begins}, &tokens));
  return append(tokens);
}

Status Generator::run_pending() {
  size_t done = 0;
  Status status;
  while (status.ok() && done < pending_.size()) {
    const size_t count = std::min(pending_.size() - done, static_cast<size_t>(max_run_));
    status = session_.resize(0, Shape{1, static_cast<int32_t>(count)});
    if (status.ok()) {
      std::memcpy(session_.data(ids_), pending_.data() + done, count * sizeof(int32_t));
      status = session_.run();
    }
    if (status.ok()) done += count;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  return status;
}

Status Generator::next(int32_t* token) {
  if (pending_.empty())
    return error(FERRY_INVALID_ARGUMENT, "there is no text to go on with: append tokens or text first");
  if (length_ == max_length_)
    return error(FERRY_STATE_FULL, "the text has %d tokens, which is all that the model holds", length_);
  FERRY_TRY(run_pending());
  const Shape shape =
      session_.shape(logits_);  // which a hostile graph may give another form than at its declared length
  if (shape.rank != 3 || shape[2] != vocabulary_)
    return error(FERRY_CORRUPT, "the logits are %s, expected [1,L,%d]", in_words(shape).c_str(), vocabulary_);
  const float* last =
      static_cast<const float*>(session_.data(logits_)) + static_cast<size_t>(shape.elements() - vocabulary_);
  const auto next = static_cast<int32_t>(std::max_element(last, last + vocabulary_) - last);
  const bool ends = tokenizer_ && tokenizer_->ends_text(next);
  std::optional<TextDecoder> decoder = decoder_;
  std::string text;
  if (decoder && next < tokenizer_->size()) decoder->append(next, &text);
  if (decoder && ends) decoder->finish(&text);
  pending_.assign(1, next);
  decoder_ = std::move(decoder);
  text_ = std::move(text);
  ended_ = ends;
  ++length_;
  *token = next;
  return {};
}

Status Generator::reset() {
  const StatesLock lock(session_.states().get());
  FERRY_TRY(lock.status());
  session_.states()->truncate(0);
  pending_.clear();
  text_.clear();
  length_ = 0;
  ended_ = false;
  decoder_.reset();
  if (tokenizer_) decoder_.emplace(*tokenizer_);
  return {};
}

}  // namespace ferry
