// What a tokenizer says must make sense: sdk/text follows its lists without asking.
#include <cmath>

#include "sdk/model/verify_meaning.h"

namespace ferry {
namespace {

Status check_piece(const fbs::Tokenizer& table, uint32_t id, bool (&octets)[256]) {
  const flatbuffers::String& piece = *table.pieces()->Get(id);
  if (piece.size() > kMaxPieceBytes)
    return error(FERRY_CORRUPT, "tokenizer: piece %u has %u bytes, at most %u are allowed", id, piece.size(),
                 kMaxPieceBytes);
  if (!std::isfinite(table.scores()->Get(id)))
    return error(FERRY_CORRUPT, "tokenizer: the score of piece %u is not a finite number", id);
  const fbs::PieceKind kind = table.kinds()->Get(id);
  if (kind > fbs::PieceKind::MAX)
    return error(FERRY_UNSUPPORTED, "tokenizer: the kind %u of piece %u is unknown to this version",
                 static_cast<unsigned>(kind), id);
  if (kind != fbs::PieceKind::Byte) return {};
  if (piece.size() != 1)
    return error(FERRY_CORRUPT, "tokenizer: piece %u stands for an octet and has %u bytes, expected 1", id,
                 piece.size());
  bool& taken = octets[static_cast<uint8_t>(piece.Get(0))];
  if (taken)
    return error(FERRY_CORRUPT, "tokenizer: piece %u stands for the octet 0x%02X, as an earlier one does", id,
                 static_cast<uint8_t>(piece.Get(0)));
  taken = true;
  return {};
}

}  // namespace

Status verify_tokenizer(const fbs::Tokenizer& table) {
  if (table.kind() > fbs::TokenizerKind::MAX)
    return error(FERRY_UNSUPPORTED, "tokenizer: its kind %u is unknown to this version",
                 static_cast<unsigned>(table.kind()));
  const uint32_t pieces = count(table.pieces());
  if (pieces == 0 || pieces > kMaxPieces)
    return error(FERRY_CORRUPT, "tokenizer: %u pieces, expected 1 to %u", pieces, kMaxPieces);
  if (count(table.scores()) != pieces || count(table.kinds()) != pieces)
    return error(FERRY_CORRUPT, "tokenizer: %u scores and %u kinds for %u pieces", count(table.scores()),
                 count(table.kinds()), pieces);
  bool octets[256] = {};
  for (uint32_t id = 0; id < pieces; ++id) FERRY_TRY(check_piece(table, id, octets));
  const auto exists = [&](int32_t id) { return id >= 0 && static_cast<uint32_t>(id) < pieces; };
  if (table.bos() != -1 && !exists(table.bos()))
    return error(FERRY_CORRUPT, "tokenizer: bos is %d, expected -1 or a piece below %u", table.bos(), pieces);
  if (count(table.eos()) > kMaxEnds)
    return error(FERRY_CORRUPT, "tokenizer: %u ids end a text, at most %u may", count(table.eos()), kMaxEnds);
  for (uint32_t i = 0; i < count(table.eos()); ++i)
    if (!exists(table.eos()->Get(i)))
      return error(FERRY_CORRUPT, "tokenizer: eos %u is %d, expected a piece below %u", i, table.eos()->Get(i), pieces);
  return {};
}

}  // namespace ferry
