// A tokenizer's pieces as SentencePiece has them, one after another.
#pragma once

#include <string>

#include "text_generated.h"

namespace ferry {

void add_piece(fbs::TokenizerT* table, std::string piece, double score, fbs::PieceKind kind);

// Once all are there: what encoding looks for. Normal pieces in order, of equal ones the first; those of bytes,
// "<0x41>"; the first unknown one.
void index_pieces(fbs::TokenizerT* table);

// A text begins with a space where it goes on with no other, and loses it again.
void begin_with_space(fbs::TokenizerT* table);

}  // namespace ferry
