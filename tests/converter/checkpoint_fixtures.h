// Checkpoint files made by hand, so that each can be wrong in one way.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/error.h"
#include "tests/support/scratch_folder.h"

namespace ferry {

inline std::string length_field(uint64_t n) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(n >> (8 * i) & 255);
  return bytes;
}

inline std::string safetensors(const std::string& header, const std::string& data = "") {
  return length_field(header.size()) + header + data;
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

// Why a checkpoint is refused, without the leading path; "opened" where it is not.
inline std::string refusal(const std::filesystem::path& path) {
  try {
    open_checkpoint(path);
    return "opened";
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string prefix = path.string() + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
}

}  // namespace ferry
