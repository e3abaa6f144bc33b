// Verifies the text data of a blob, which is untrusted.
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
inline constexpr uint32_t kMaxAround = 1 << 10;         // ids before a text, and behind it
inline constexpr uint32_t kMaxSteps = 256;              // of a normalizer or a pre-tokenizer
inline constexpr uint32_t kMaxInstructions = 1 << 14;   // of a pattern
inline constexpr uint32_t kMaxSpecialTokens = 1 << 10;  // tokens with names in templates
// Limits for images: patches per side of a merged patch, and side of the table of position embeddings.
inline constexpr int32_t kMaxMerge = 64, kMaxTableSide = 4096;

// `bytes`, aligned to 8, contain a flatbuffer of sdk/schema/text.fbs with valid tables; `text` points into them.
// FERRY_CORRUPT, FERRY_UNSUPPORTED.
Status read_text(std::span<const std::byte> bytes, const fbs::Text** text);

// Checks lists of equal length, known kinds, and ids and instructions in range. Lists for binary search may be
// unsorted: lookups then fail. See sdk/text/verify_tokenizer.cc.
Status verify_tokenizer(const fbs::Tokenizer& table);

}  // namespace ferry
