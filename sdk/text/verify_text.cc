#include "sdk/text/verify_text.h"

#include <cstdint>

#include "sdk/text/sampling.h"
#include "sdk/text/template/characters.h"

namespace ferry {
namespace {

// The template itself is parsed when it is used, as untrusted input.
Status verify_chat_template(const fbs::Text& text) {
  const auto *names = text.special_token_names(), *tokens = text.special_tokens();
  const uint32_t count = names != nullptr ? names->size() : 0;
  if (count != (tokens != nullptr ? tokens->size() : 0) || count > kMaxSpecialTokens)
    return error(FERRY_CORRUPT, "the blob's text names %u special tokens and has %u; at most %u are taken", count,
                 tokens != nullptr ? tokens->size() : 0, kMaxSpecialTokens);
  for (uint32_t i = 0; i < count; ++i)
    if (!jinja::well_formed(names->Get(i)->string_view()) || !jinja::well_formed(tokens->Get(i)->string_view()))
      return error(FERRY_CORRUPT, "the blob's special token %u is not UTF-8", i);
  return {};
}

Status verify_ends(const flatbuffers::Vector<int32_t>& ends) {
  if (ends.size() > kMaxEnds)
    return error(FERRY_CORRUPT, "the blob's text: %u ids end a text, at most %u may", ends.size(), kMaxEnds);
  for (const int32_t id : ends)
    if (id < 0) return error(FERRY_CORRUPT, "the blob's text: %d ends a text, expected an id of 0 or more", id);
  return {};
}

Status verify_sampling(const fbs::Sampling& table) {
  const Status status = Sampler::check(sampling_of(table), 0);
  return status.ok() ? Status()
                     : error(FERRY_CORRUPT, "the blob's text: recommended sampling: %s", status.message().data());
}

// The image reader checks that the named graph exists and has the required inputs.
Status verify_images(const fbs::Images& p) {
  const auto within = [](int32_t value, int32_t minimum, int32_t maximum) {
    return value >= minimum && value <= maximum;
  };
  if (p.graph() == nullptr || !within(p.token(), 0, INT32_MAX) || !within(p.start(), -1, INT32_MAX) ||
      !within(p.end(), -1, INT32_MAX) || !within(p.merge(), 1, kMaxMerge) || !within(p.table_side(), 1, kMaxTableSide))
    return error(FERRY_CORRUPT,
                 "the blob's text: images by graph '%.64s', tokens %d, %d and %d, squares of %d patches and a table of "
                 "side %d; expected a name, ids, 1 to %d and 1 to %d",
                 p.graph() != nullptr ? p.graph()->c_str() : "", p.token(), p.start(), p.end(), p.merge(),
                 p.table_side(), kMaxMerge, kMaxTableSide);
  return {};
}

}  // namespace

Status read_text(std::span<const std::byte> bytes, const fbs::Text** text) {
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  // A hostile blob may place its text anywhere; flatbuffers does not check the alignment of the whole.
  if (reinterpret_cast<uintptr_t>(begin) % alignof(double) != 0)
    return error(FERRY_CORRUPT, "the blob's text does not lie at a multiple of %zu bytes", alignof(double));
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;
  options.max_tables = 1 << 20;
  flatbuffers::Verifier verifier(begin, bytes.size(), options);
  if (!fbs::VerifyTextBuffer(verifier))
    return error(FERRY_CORRUPT, "the blob's text is damaged: an offset or a length leads outside its %zu bytes",
                 bytes.size());
  const fbs::Text& read = *fbs::GetText(begin);
  if (read.tokenizer() != nullptr) FERRY_TRY(verify_tokenizer(*read.tokenizer()));
  FERRY_TRY(verify_chat_template(read));
  if (read.images() != nullptr) FERRY_TRY(verify_images(*read.images()));
  if (read.ends() != nullptr) FERRY_TRY(verify_ends(*read.ends()));
  if (read.sampling() != nullptr) FERRY_TRY(verify_sampling(*read.sampling()));
  *text = &read;
  return {};
}

}  // namespace ferry
