// Handmade checkpoint files, each with one fault.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

// A zip archive of stored entries: local entries, directory, end record; checksums are left 0.
inline std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  const auto field = [](uint64_t value, size_t size) { return length_field(value).substr(0, size); };
  std::string bytes, directory;
  for (const auto& [name, data] : entries) {
    // The fields common to local and central headers: flags, method, time, checksum, sizes, the name's length, no extra
    // field.
    const std::string common =
        std::string(12, '\0') + field(data.size(), 4) + field(data.size(), 4) + field(name.size(), 2) + field(0, 2);
    directory +=
        "PK\1\2" + field(20, 2) + field(20, 2) + common + std::string(10, '\0') + field(bytes.size(), 4) + name;
    bytes += "PK\3\4" + field(20, 2) + common + name + data;
  }
  return bytes + directory + "PK\5\6" + std::string(4, '\0') + field(entries.size(), 2) + field(entries.size(), 2) +
         field(directory.size(), 4) + field(bytes.size(), 4) + field(0, 2);
}

// Why a checkpoint is refused, without the leading path; "opened" if it is not.
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
