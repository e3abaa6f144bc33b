// What a blob says of text must make sense before anything follows it: a blob is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/status.h"
#include "text_generated.h"

namespace ferry {

// Limits of a tokenizer.
inline constexpr uint32_t kMaxPieces = 1 << 20;
inline constexpr uint32_t kMaxPieceBytes = 4096;
inline constexpr uint32_t kMaxMerges = 1 << 24;
inline constexpr uint32_t kMaxEnds = 256;               // ids that end a text
inline constexpr uint32_t kMaxSteps = 256;              // of a normalizer or a pre-tokenizer
inline constexpr uint32_t kMaxInstructions = 1 << 14;   // of a pattern
inline constexpr uint32_t kMaxSpecialTokens = 1 << 10;  // that templates have names for
// Of images: a square's patches a side, and the table of position embeddings.
inline constexpr int32_t kMaxMerge = 64, kMaxTableSide = 4096;

// `bytes`, aligned to 8, hold a flatbuffer of sdk/schema/text.fbs whose tables make sense; `text` points into them.
// FERRY_CORRUPT, FERRY_UNSUPPORTED.
Status read_text(std::span<const std::byte> bytes, const fbs::Text** text);

// Lists of equal length, kinds that are known, ids and instructions that exist. What is searched in order and is in
// none is allowed: it is not found. sdk/text/verify_tokenizer.cc.
Status verify_tokenizer(const fbs::Tokenizer& table);

}  // namespace ferry
