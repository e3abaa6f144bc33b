#include "sdk/text/saved_text.h"

#include <cstring>
#include <string_view>

#include "sdk/text/utf8.h"

namespace ferry {
namespace {

struct Header {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', 'T', 'X', '\x1a'};
  static constexpr uint32_t kVersion = 1;

  char magic[8];
  uint32_t version, ended;
  uint64_t random;
  uint32_t tokens, done, held, zero;
  uint64_t note;
};
static_assert(sizeof(Header) == 48);

bool is_well_formed(std::string_view text) {
  while (!text.empty()) {
    const int bytes = character_bytes(text);
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

}  // namespace

std::string written(const SavedText& text) {
  Header header{};
  std::memcpy(header.magic, Header::kMagic, sizeof header.magic);
  header.version = Header::kVersion;
  header.ended = text.ended ? 1 : 0;
  header.random = text.random;
  header.tokens = static_cast<uint32_t>(text.tokens.size());
  header.done = text.done;
  header.held = static_cast<uint32_t>(text.held.size());
  header.note = text.note.size();
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(text.tokens.data()), text.tokens.size() * sizeof(int32_t));
  return out + text.held + text.note;
}

Status read_saved_text(std::span<const std::byte> bytes, SavedText* out) {
  Header header{};
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, Header::kMagic, sizeof header.magic) != 0)
    return error(FERRY_CORRUPT, "these are states without a text");
  if (header.version == 0 || header.version > Header::kVersion)
    return error(header.version == 0 ? FERRY_CORRUPT : FERRY_UNSUPPORTED_VERSION,
                 "a text of version %u, this library reads versions up to %u", header.version, Header::kVersion);
  const uint64_t rest = bytes.size() - sizeof header, tokens = header.tokens * uint64_t{sizeof(int32_t)};
  if (header.note > rest || tokens + header.held != rest - header.note)
    return error(FERRY_CORRUPT, "a text of %u tokens, %u bytes held back and a note of %llu does not take %llu bytes",
                 header.tokens, header.held, static_cast<unsigned long long>(header.note),
                 static_cast<unsigned long long>(rest));
  if (header.done > header.tokens || header.ended > 1 || header.zero != 0)
    return error(FERRY_CORRUPT, "a text of %u tokens of which %u were run: its head is damaged", header.tokens,
                 header.done);
  const char* at = reinterpret_cast<const char*>(bytes.data()) + sizeof header;
  out->tokens.resize(header.tokens);
  if (tokens > 0) std::memcpy(out->tokens.data(), at, static_cast<size_t>(tokens));
  at += tokens;
  out->held.assign(at, header.held);
  out->note.assign(at + header.held, static_cast<size_t>(header.note));
  if (!is_well_formed(out->held)) return error(FERRY_CORRUPT, "the text's pending characters are not UTF-8");
  out->done = header.done;
  out->ended = header.ended != 0;
  out->random = header.random;
  return {};
}

}  // namespace ferry
