// The SDK's writer of files (sdk/files/new_file.h), for code that throws.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "sdk/files/new_file.h"

namespace ferry {

// Throws Error with the sentence of a failure.
void or_fail(const Status& status);

// Writes a file of these bytes, whole or not at all. Throws Error.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
inline void write_text_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace ferry
