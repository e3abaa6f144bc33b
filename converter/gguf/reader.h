// Reads GGUF, llama.cpp's container of tensors and metadata, versions 2 and 3, little-endian
// (github.com/ggml-org/ggml, docs/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/mapped_file.h"
#include "converter/gguf/blocks.h"

namespace ferry::gguf {

// The double nearest to the shortest decimal that reads as `value`: 1e-5 of the float32 nearest to it, so that
// settings are those of the config.json that the file was made from.
double decimal_of(float value);

// A value of the metadata. Numbers and flags are doubles: exact, except for integers above 2^53 and float32
// (decimal_of).
struct Value {
  enum class Kind { Number, Flag, Text, Numbers, Flags, Texts } kind = Kind::Number;
  double number = 0;                 // Flag: 0 or 1
  std::string_view text = {};        // in the mapped file
  std::vector<double> numbers = {};  // Numbers, Flags
  std::vector<std::string_view> texts = {};
};

struct Tensor {
  const BlockType* type = nullptr;
  std::vector<int64_t> shape;  // row-major: the reverse of the file's order
  std::span<const std::byte> bytes;
  std::string where;  // "model.gguf: tensor "blk.0.attn_q.weight""
};

struct File {
  std::map<std::string, Value, std::less<>> metadata;
  std::map<std::string, Tensor> tensors;  // by name
};

// Reads metadata and descriptions of tensors; numbers stay in the mapping. Throws Error that names the position or the
// tensor: if the file is cut off or big-endian, if counts or sizes exceed it, names are not unique, arrays are nested,
// or tensors overlap, are misaligned or of an unknown type. Collects reasons about tensors and lists them all.
File read_file(const MappedFile& file);

}  // namespace ferry::gguf
