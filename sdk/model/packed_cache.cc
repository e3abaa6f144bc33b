#include "sdk/model/packed_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sdk/model/mapping.h"
#include "sdk/model/model.h"

namespace ferry {
namespace {

Status failed(const std::string& path, const char* doing) {
  return error(FERRY_IO_ERROR, "'%s' cannot be %s: %s", path.c_str(), doing, std::strerror(errno));
}

// Creates the folder and its parents.
Status make_folder(const std::string& folder) {
  for (size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1))
    ::mkdir(folder.substr(0, end).c_str(), 0755);
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return failed(folder, "made");
  return {};
}

std::string path_of(const char* folder, const PackedTarget& target) {
  return std::string(folder) + "/" + target.file_name();
}

Status attach(PackedStore& store, const std::string& path, const PackedTarget& target) {
  if (::access(path.c_str(), F_OK) != 0) return error(FERRY_NOT_FOUND, "there is no '%s'", path.c_str());
  std::unique_ptr<Mapping> mapping;
  FERRY_TRY(Mapping::map_path(path.c_str(), &mapping));
  PackedFile file;
  if (Status status = PackedFile::open(mapping->bytes(), target, &file); !status.ok())
    return error(status.code(), "'%s': %s", path.c_str(), status.message().data());
  store.attach(file, std::shared_ptr<const Mapping>(std::move(mapping)));
  return {};
}

// A temporary file beside the one that it will replace. Only the process that holds its lock writes it.
class Draft {
 public:
  explicit Draft(const std::string& path) : path_(path), draft_(path + ".new") {}
  ~Draft() {
    if (fd_ < 0) return;
    if (ours_) ::unlink(draft_.c_str());  // not renamed, because of an error
    ::close(fd_);                         // also releases the lock
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Status lock() {
    fd_ = ::open(draft_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return failed(draft_, "written");
    struct stat ours, there;
    // Does not wait for the lock, whose holder may be suspended. If the name has another inode, another process has
    // just renamed its file.
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd_, &ours) != 0 || ::stat(draft_.c_str(), &there) != 0 ||
        ours.st_ino != there.st_ino)
      return error(FERRY_IO_ERROR, "'%s' is being written by another session", path_.c_str());
    ours_ = true;
    return {};
  }

  Status write(const PackedImage& image) {
    if (::ftruncate(fd_, 0) != 0) return failed(draft_, "written");
    FERRY_TRY(write_at(0, {reinterpret_cast<const std::byte*>(image.head.data()), image.head.size()}));
    for (const PackedImage::Piece& piece : image.pieces) FERRY_TRY(write_at(piece.offset, piece.bytes));
    const std::byte none{};
    FERRY_TRY(write_at(image.bytes - 1, {&none, 1}));  // the last entry's padding
    // Data must be on the disk before the rename, or a power failure leaves a file of the right size without its
    // contents.
    if (::fsync(fd_) != 0) return failed(draft_, "written");
    if (::rename(draft_.c_str(), path_.c_str()) != 0) return failed(path_, "replaced");
    ours_ = false;
    return {};
  }

 private:
  Status write_at(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t step = std::min<size_t>(bytes.size(), size_t{1} << 30);
      const ssize_t done = ::pwrite(fd_, bytes.data(), step, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return failed(draft_, "written");
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += static_cast<uint64_t>(done);
    }
    return {};
  }

  const std::string path_, draft_;
  int fd_ = -1;
  bool ours_ = false;  // the name draft_ refers to our file
};

}  // namespace

Status attach_embedded(const Model& model, const PackedTarget& target, PackedStore& store) {
  Status status = error(FERRY_NOT_FOUND, "the blob has no packed weights");
  if (model.root().packed() == nullptr) return status;
  for (const fbs::Packed* packed : *model.root().packed()) {
    PackedFile file;
    status = PackedFile::open(model.segment(packed->buffer()), target, &file);
    if (!status.ok()) continue;
    store.attach(file, nullptr);
    return {};
  }
  return error(status.code(), "the blob's packed weights are not used: %s", status.message().data());
}

Status attach_cached(PackedStore& store, const char* folder, const PackedTarget& target) {
  const std::string path = path_of(folder, target);
  FERRY_TRY(attach(store, path, target));
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // its last use, by which a cache removes old files
  return {};
}

Status save_cached(PackedStore& store, const char* folder, const PackedTarget& target) {
  FERRY_TRY(make_folder(folder));
  const std::string path = path_of(folder, target);
  Draft draft(path);
  FERRY_TRY(draft.lock());
  // Merges entries that another process wrote meanwhile; an unreadable file is replaced.
  if (attach(store, path, target).ok()) store.drop_copies();
  if (store.heap_bytes() == 0) return {};
  FERRY_TRY(draft.write(make_packed_image(store, target)));
  FERRY_TRY(attach(store, path, target));
  store.drop_copies();
  return {};
}

Status write_packed(const PackedStore& store, const PackedTarget& target, const std::string& path) {
  Draft draft(path);
  FERRY_TRY(draft.lock());
  return draft.write(make_packed_image(store, target));
}

}  // namespace ferry
