// Types of GGUF tensors: floats, and blocks of integers with scales (ggml's block_q4_0 and so on).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::gguf {

// Decodes one block of `numbers` to float32, in the arithmetic that defines the type: a product of float32 scale and
// integer, and a sum with the minimum, each rounded once.
using Decode = void (*)(const std::byte* block, float* out);

struct BlockType {
  uint32_t id;              // ggml_type
  const char* name;         // "Q4_K"
  uint32_t numbers, bytes;  // of a block
  Decode decode;
};

// Null for an unknown type.
const BlockType* block_type(uint32_t id);
// Of ids that llama.cpp has and Ferry does not read, "IQ2_XS"; empty if unknown.
std::string_view unread_type(uint32_t id);
// "F32, F16, Q4_0..."
const char* known_types();

}  // namespace ferry::gguf
