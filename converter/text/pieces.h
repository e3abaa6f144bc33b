// Appends a piece, as in SentencePiece.
#pragma once

#include <string>

#include "text_generated.h"

namespace ferry {

void add_piece(fbs::TokenizerT* table, std::string piece, double score, fbs::PieceKind kind);

// Builds the indices for encoding from the complete list: sorted normal pieces (the first of equal ones), byte pieces
// ("<0x41>"), the first unknown piece.
void index_pieces(fbs::TokenizerT* table);

// Prefixes a text with a space unless it begins with one; decoding removes it.
void begin_with_space(fbs::TokenizerT* table);

}  // namespace ferry
