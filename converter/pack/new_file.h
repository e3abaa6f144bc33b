// A file that is created atomically: written without a name, or beside its destination, and renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace ferry {

class NewFile {
 public:
  // Like all of these functions, throws Error if it cannot write.
  explicit NewFile(const std::filesystem::path& destination);
  ~NewFile();  // removes the file unless kept
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);        // appends
  void write_again(std::span<const std::byte> bytes);  // overwrites the beginning
  // The temporary path before keep(): of a file, or of this process's descriptor.
  std::filesystem::path path() const;
  void keep();

 private:
  [[noreturn]] void refuse(int why) const;
  void create();
  void name();

  std::filesystem::path destination_;
  std::string name_;        // temporary
  std::string descriptor_;  // the path of a file that has no name yet; else empty
  int fd_ = -1;
};

// Creates a file with these bytes.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace ferry
