// A file that is there whole or not at all: it is written beside its place, and renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace ferry {

class NewFile {
 public:
  // Throws Error, as all of these do, where the place cannot be written.
  explicit NewFile(const std::filesystem::path& place);
  ~NewFile();  // gone again unless kept
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);        // behind what was written
  void write_again(std::span<const std::byte> bytes);  // over the first ones
  // Where the bytes are until the file is kept.
  std::filesystem::path path() const { return name_; }
  void keep();

 private:
  [[noreturn]] void refuse(int why) const;

  std::filesystem::path place_;
  std::string name_;
  int fd_ = -1;
};

// A file of these bytes.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace ferry
