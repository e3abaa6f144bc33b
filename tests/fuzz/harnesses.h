// All harnesses. tests/fuzz/NAME.cc says what each one reads.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#define FERRY_HARNESSES(X) \
  X(blob)                  \
  X(certificate)           \
  X(chat)                  \
  X(config)                \
  X(conversation)          \
  X(fixture)               \
  X(gguf)                  \
  X(hub)                   \
  X(index)                 \
  X(network)               \
  X(onnx)                  \
  X(packed)                \
  X(pickle)                \
  X(image)                 \
  X(pytorch)               \
  X(quantized)             \
  X(reference)             \
  X(safetensors)           \
  X(states)                \
  X(tables)                \
  X(tensorflowjs)          \
  X(text)                  \
  X(tflite)                \
  X(tokenizer)             \
  X(zip)

namespace ferry::fuzz {

#define FERRY_DECLARE_HARNESS(name) void name(std::span<const std::byte> bytes, std::string_view text);
FERRY_HARNESSES(FERRY_DECLARE_HARNESS)
#undef FERRY_DECLARE_HARNESS

}  // namespace ferry::fuzz
