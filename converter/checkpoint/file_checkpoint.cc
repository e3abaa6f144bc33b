#include "converter/checkpoint/file_checkpoint.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <system_error>

#include "converter/checkpoint/inside.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/sha256.h"
#include "converter/error.h"

namespace ferry {

FileCheckpoint::FileCheckpoint(const char* format, std::vector<std::shared_ptr<const MappedFile>> files,
                               std::map<std::string, CheckpointTensor> tensors)
    : format_(format), files_(std::move(files)), tensors_(std::move(tensors)) {}

std::string FileCheckpoint::sha256() const {
  auto files = files_;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a->path() < b->path(); });
  Sha256 hash;
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (const auto& file : files) {
    for (size_t at = 0; at < file->bytes().size(); at += buffer.size()) {
      const auto part = std::span(buffer).first(std::min(buffer.size(), file->bytes().size() - at));
      file->read(at, part);
      hash.update(part);
    }
  }
  return hash.hex();
}

std::vector<Checkpoint::File> FileCheckpoint::files() const {
  std::vector<File> all;
  for (const auto& file : files_) all.push_back({file->path(), file->bytes()});
  return all;
}

void FileCheckpoint::forget(std::span<const std::byte> bytes) const {
  for (const auto& file : files_) file->forget(bytes);
}

std::span<const std::byte> FileCheckpoint::fetch(std::span<const std::byte> bytes,
                                                 std::vector<std::byte>* buffer) const {
  for (const auto& file : files_) {
    const auto at = static_cast<size_t>(bytes.data() - file->bytes().data());
    if (std::less<>()(bytes.data(), file->bytes().data()) || at > file->bytes().size() ||
        bytes.size() > file->bytes().size() - at)
      continue;
    buffer->resize(bytes.size());
    file->read(at, *buffer);
    return *buffer;
  }
  return bytes;  // owned
}

std::optional<size_t> tensor_bytes(ElementType type, const std::vector<int64_t>& shape) {
  // The overflow check treats dimensions of 0 as 1: a shape whose other dimensions overflow is invalid, too.
  uint64_t bytes = element_size(type);
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) empty = true;
    if (d > 1 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return empty ? 0 : static_cast<size_t>(bytes);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::shared_ptr<const MappedFile> open_sibling(const MappedFile& from, const std::string& name, const char* what) {
  const std::filesystem::path relative = std::filesystem::path(name).lexically_normal();
  const bool escapes =
      relative.is_absolute() || relative.empty() || *relative.begin() == ".." || name.find('\0') != std::string::npos;
  if (escapes)
    fail("%s: %s names the file %s, which is not a path inside the same folder", from.path().c_str(), what,
         in_quotes(name).c_str());
  const std::filesystem::path path = from.path().parent_path() / relative;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    fail("%s: %s names the file %s, which is missing from that folder", from.path().c_str(), what,
         in_quotes(name).c_str());
  check_inside(from.path().parent_path(), path);
  return MappedFile::open(path);
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace ferry
