// Metadata of a GGUF file, by key, with the errors of a wrong type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "converter/gguf/reader.h"

namespace ferry::gguf {

// All values of a file. `file` outlives it.
class Metadata {
 public:
  Metadata(const File& file, std::string path) : file_(file), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const Value* find(std::string_view key) const;
  // Nothing if the key is absent. Throws Error if the value has another kind.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  // Null if the key is absent.
  const Value* list(std::string_view key, Value::Kind kind) const;
  // A number that is an integer from 0 to 2^31 - 1.
  std::optional<int> integer(std::string_view key) const;

 private:
  const Value* of_kind(std::string_view key, Value::Kind kind, const char* expected) const;

  const File& file_;
  std::string path_;
};

}  // namespace ferry::gguf
