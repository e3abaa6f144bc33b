#include "tests/fuzz/harness.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace ferry::fuzz {

namespace fs = std::filesystem;

Folder::Folder() {
  const fs::path memory = "/dev/shm";
  std::string name = (fs::exists(memory) ? memory : fs::temp_directory_path()) / "ferry-fuzz-XXXXXX";
  require(mkdtemp(name.data()) != nullptr, "no scratch folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

const Folder& Folder::get() {
  static const Folder folder;
  return folder;
}

fs::path Folder::write(const std::string& name, std::string_view bytes) const {
  const fs::path file = path_ / name;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no scratch file");
  ::close(fd);
  return file;
}

void Folder::clear() const {
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
}

Aligned::Aligned(std::span<const std::byte> bytes) : data_(nullptr), size_(bytes.size()) {
  void* memory = nullptr;
  require(posix_memalign(&memory, 64, size_ > 0 ? size_ : 1) == 0, "no memory for the input");
  data_ = static_cast<std::byte*>(memory);
  if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
}

}  // namespace ferry::fuzz
