#include "converter/text/pieces.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace ferry {

void add_piece(fbs::TokenizerT* table, std::string piece, double score, fbs::PieceKind kind) {
  table->pieces.push_back(std::move(piece));
  table->scores.push_back(score);
  table->kinds.push_back(kind);
}

void index_pieces(fbs::TokenizerT* table) {
  for (size_t id = 0; id < table->pieces.size(); ++id) {
    const std::string& piece = table->pieces[id];
    switch (table->kinds[id]) {
      case fbs::PieceKind::Normal:
        if (!piece.empty()) table->order.push_back(static_cast<uint32_t>(id));
        break;
      case fbs::PieceKind::Byte:
        table->bytes.resize(256, -1);
        table->bytes[std::strtoul(piece.c_str() + 3, nullptr, 16) & 0xFF] = static_cast<int>(id);
        break;
      case fbs::PieceKind::Unknown:
        if (table->unknown < 0) table->unknown = static_cast<int>(id);
        break;
      case fbs::PieceKind::Control:
      case fbs::PieceKind::Absent: break;
    }
  }
  const auto text = [table](uint32_t id) -> const std::string& { return table->pieces[id]; };
  std::stable_sort(table->order.begin(), table->order.end(), [&](uint32_t a, uint32_t b) { return text(a) < text(b); });
  table->order.erase(
      std::unique(table->order.begin(), table->order.end(), [&](uint32_t a, uint32_t b) { return text(a) == text(b); }),
      table->order.end());
}

void begin_with_space(fbs::TokenizerT* table) {
  // Matches the empty text at the beginning: no character precedes it.
  auto pattern = std::make_unique<fbs::PatternT>();
  pattern->program = {{fbs::PatternOp::Before, true, 0, 0}, {fbs::PatternOp::Match, false, 0, 0}};
  auto any = std::make_unique<fbs::CharacterClassT>();
  any->ascii.assign(4, ~0u);
  any->ranges = {0x80, 0x10FFFF};
  pattern->classes.push_back(std::move(any));
  fbs::ReplaceT replace;
  replace.pattern = std::move(pattern);
  replace.content = " ";
  replace.where = fbs::Where::First;
  auto step = std::make_unique<fbs::StepT>();
  step->kind.Set(std::move(replace));
  table->normalizer.push_back(std::move(step));
  table->decoder = std::make_unique<fbs::DecoderT>();
  table->decoder->strip = " ";
  table->decoder->strip_count = 1;
}

}  // namespace ferry
