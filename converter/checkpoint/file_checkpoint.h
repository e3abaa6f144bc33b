// Base class of the readers: a checkpoint of mapped files.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

class FileCheckpoint : public Checkpoint {
 public:
  // files[0] is the file that was opened.
  FileCheckpoint(const char* format, std::vector<std::shared_ptr<const MappedFile>> files,
                 std::map<std::string, CheckpointTensor> tensors);

  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return format_; }
  std::string sha256() const override;
  const std::filesystem::path& path() const override { return files_.front()->path(); }
  std::vector<File> files() const override;
  void forget(std::span<const std::byte> bytes) const override;
  std::span<const std::byte> fetch(std::span<const std::byte> bytes, std::vector<std::byte>* buffer) const override;
  std::vector<std::string> notes() const override { return remarks; }

  // Buffers of tensors that cannot point into a mapping: dequantized, strided, or spread over two files.
  std::deque<std::vector<std::byte>> owned;
  std::vector<std::string> remarks;  // notes()

 private:
  const char* format_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::map<std::string, CheckpointTensor> tensors_;
};

// Size of a tensor in bytes; none if a dimension is negative or the product overflows.
std::optional<size_t> tensor_bytes(ElementType type, const std::vector<int64_t>& shape);

// "[3,64,1,1]"
std::string shape_text(const std::vector<int64_t>& shape);

// Maps a file that another one references. `what` describes it in messages ("the index"). Throws Error if the name
// leads out of the folder or the file does not exist.
std::shared_ptr<const MappedFile> open_sibling(const MappedFile& from, const std::string& name, const char* what);

std::string_view text_of(const MappedFile& file);

}  // namespace ferry
