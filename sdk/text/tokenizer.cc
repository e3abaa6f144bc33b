#include "sdk/text/tokenizer.h"

#include <algorithm>
#include <new>

#include "sdk/text/steps.h"
#include "sdk/text/utf8.h"
#include "sdk/text/word_encoder.h"

namespace ferry {
namespace {

// One encoding. A text is split at its added tokens; the parts between are normalized, split at added tokens that match
// normalized text, and split into words, which become pieces.
class Encoding {
 public:
  Encoding(const Tokenizer& tokenizer, size_t bytes, bool goes_on, std::vector<int32_t>* ids)
      : table_(tokenizer.table()),
        budget_(Budget::for_text(bytes)),
        normalizer_(table_.normalizer(), budget_),
        pre_tokenizer_(table_.pre_tokenizer(), budget_),
        words_(tokenizer, budget_),
        bytes_(bytes),
        goes_on_(goes_on),
        ids_(ids) {}

  Status run(std::string_view text) {
    FERRY_TRY(at_tokens(table_.added(), text, [this](std::string_view part, bool first) {
      if (!table_.normalizer()) return normalized(part, first);
      Stretches stretches{std::string(part)};
      normalizer_.apply(&stretches, first, goes_on_);
      if (const Status kept = within_budget(); !kept.ok()) return kept;
      return normalized(stretches.bytes, first);
    }));
    return within_budget();
  }

 private:
  Status normalized(std::string_view text, bool at_beginning) {
    return at_tokens(table_.added_normalized(), text, [this, at_beginning](std::string_view part, bool first) {
      if (!table_.pre_tokenizer()) return words_.encode(part, ids_);
      Stretches words{std::string(part)};
      pre_tokenizer_.apply(&words, at_beginning && first, goes_on_);
      for (size_t i = 0; i < words.list.size() && !budget_.exhausted(); ++i) FERRY_TRY(words_.encode(words[i], ids_));
      return within_budget();
    });
  }

  Status within_budget() const {
    if (!budget_.exhausted()) return {};
    return error(FERRY_UNSUPPORTED, "the tokenizer needs too many steps, or writes too much, for a text of %zu bytes",
                 bytes_);
  }

  bool is_word(std::string_view text, size_t at) const {
    size_t bytes = 0;
    return contains(*table_.word_characters(), character_at(text, at, &bytes));
  }

  // Appends the ids of the added tokens in `text` (leftmost, then longest) and calls `between(part, whether it begins
  // the text)` for the rest.
  template <typename Between>
  Status at_tokens(const fbs::AddedTokens* added, std::string_view text, Between between) {
    size_t done = 0;
    const auto part = [&](size_t end) {
      return done < end ? between(text.substr(done, end - done), done == 0) : Status();
    };
    if (!added) return part(text.size());
    const auto& tokens = *added->tokens();
    const auto content = [&tokens](uint32_t i) {
      return std::string_view(tokens.Get(i)->content()->data(), tokens.Get(i)->content()->size());
    };
    for (size_t at = 0; at < text.size() && !budget_.exhausted();) {
      const auto byte = static_cast<uint8_t>(text[at]);
      if (!(added->first_bytes()->Get(byte / 32) >> byte % 32 & 1)) {
        ++at;
        continue;
      }
      PrefixWalk walk(tokens.size(), content);
      const fbs::AddedToken* token = nullptr;
      size_t begin = at, end = at;
      for (size_t next = at; next < text.size() && budget_.take(1) && walk.take(text[next]);) {
        ++next;
        if (!walk.ends()) continue;
        token = tokens.Get(walk.index());
        end = next;
      }
      if (!token) {
        ++at;
        continue;
      }
      at = end;
      if (token->single_word() &&
          ((begin > 0 && is_word(text, begin - bytes_before(text, begin))) || is_word(text, end)))
        continue;
      size_t bytes = 0;
      if (token->strip_left())
        while (begin > done &&
               contains(*table_.space_characters(), character_at(text, begin - bytes_before(text, begin), &bytes)))
          begin -= bytes;
      if (token->strip_right())
        while (contains(*table_.space_characters(), character_at(text, end, &bytes))) end += bytes;
      FERRY_TRY(part(begin));
      ids_->push_back(token->id());
      done = at = end;
    }
    return part(text.size());
  }

  const fbs::Tokenizer& table_;
  Budget budget_;
  Steps normalizer_, pre_tokenizer_;
  WordEncoder words_;
  size_t bytes_;  // of the whole text
  bool goes_on_;
  std::vector<int32_t>* ids_;
};

}  // namespace

Status Tokenizer::create(const fbs::Tokenizer& table, std::unique_ptr<Tokenizer>* out) {
  out->reset(new (std::nothrow) Tokenizer(table));
  return *out ? Status() : Status::out_of_memory();
}

std::string_view Tokenizer::piece(int32_t id) const {
  const flatbuffers::String& text = *table_.pieces()->Get(static_cast<unsigned>(id));
  return {text.data(), text.size()};
}

bool Tokenizer::ends_text(int32_t id) const {
  const auto* eos = table_.eos();
  return eos && std::find(eos->begin(), eos->end(), id) != eos->end();
}

Status Tokenizer::encode(std::string_view text, Options options, std::vector<int32_t>* ids) const {
  if (text.size() > kMaxTextBytes)
    return error(FERRY_INVALID_ARGUMENT, "a text of %zu bytes, at most %zu are allowed", text.size(), kMaxTextBytes);
  const auto append = [ids](const flatbuffers::Vector<int32_t>* tokens) {
    if (tokens) ids->insert(ids->end(), tokens->begin(), tokens->end());
  };
  if (options.special) append(table_.before());
  FERRY_TRY(Encoding(*this, text.size(), !options.beginning, ids).run(text));
  if (options.special) append(table_.after());
  return {};
}

}  // namespace ferry
