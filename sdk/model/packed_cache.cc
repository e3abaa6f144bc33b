#include "sdk/model/packed_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "sdk/descriptor.h"
#include "sdk/files/folder.h"
#include "sdk/files/new_file.h"
#include "sdk/model/checked_files.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"
#include "sdk/model/seeded.h"

namespace ferry {
namespace {

std::string path_of(const char* folder, const PackedTarget& target) {
  return std::string(folder) + "/" + target.file_name();
}

// A file that nobody else could have changed.
Status open_own(const std::string& path, Descriptor* file, std::unique_ptr<Mapping>* mapping) {
  *file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file->ok()) return error(FERRY_IO_ERROR, "it cannot be opened: %s", std::strerror(errno));
  FERRY_TRY(check_file_is_own(file->get()));
  FileStamp stamp;
  FERRY_TRY(stamp_of(file->get(), &stamp));
  return Mapping::map_fd(file->get(), 0, stamp.size, mapping);
}

// Compares the weights with their checksum: large ones once a file, since reading them would cost each start a part of
// what the file saves. Sets the file's time, by which a cache removes what was used longest ago.
Status check_and_touch(const char* folder, int fd, const FileStamp& stamp, const PackedFile& file) {
  constexpr uint64_t kLarge = uint64_t{16} << 20;  // bytes, which take 1.5 ms at 11 GB/s
  if (stamp.size < kLarge || !was_checked(folder, stamp, file.contents_checksum())) FERRY_TRY(file.check_contents());
  ::futimens(fd, nullptr);
  FileStamp touched;
  if (stamp.size >= kLarge && stamp_of(fd, &touched).ok()) remember_checked(folder, touched, file.contents_checksum());
  return {};
}

enum class Contents { Checked, JustWritten };

Status attach(PackedStore& store, const char* folder, const PackedTarget& target, Contents contents) {
  const std::string path = path_of(folder, target);
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return error(FERRY_NOT_FOUND, "there is no '%s'", path.c_str());
  Descriptor opened(-1);
  std::unique_ptr<Mapping> mapping;
  PackedFile file;
  Status status = open_own(path, &opened, &mapping);
  if (status.ok()) status = PackedFile::open(mapping->bytes(), target, &file);
  if (status.ok() && contents == Contents::Checked)
    status = check_and_touch(folder, opened.get(), *mapping->file(), file);
  if (!status.ok()) return error(status.code(), "'%s': %s", path.c_str(), status.message().data());
  store.attach(file, std::shared_ptr<const Mapping>(std::move(mapping)));
  return {};
}

// Held by the one session that writes a file of the cache. An empty file beside it, which goes with the lock.
class WriterLock {
 public:
  explicit WriterLock(const std::string& path) : path_(path), lock_(path + ".lock") {}
  ~WriterLock() {
    if (held_) ::unlink(lock_.c_str());
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

  // Does not wait for the lock, whose holder may be suspended.
  Status take() {
    file_ = Descriptor(::open(lock_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file_.ok()) return error(FERRY_IO_ERROR, "'%s': cannot be written: %s", lock_.c_str(), std::strerror(errno));
    // If the name has another inode, another process has just released its lock.
    struct stat ours, there;
    held_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file_.get(), &ours) == 0 &&
            ::lstat(lock_.c_str(), &there) == 0 && ours.st_ino == there.st_ino;
    if (!held_) return error(FERRY_IO_ERROR, "'%s' is being written by another session", path_.c_str());
    remembered_.remember(lock_);
    return {};
  }

 private:
  const std::string path_, lock_;
  Descriptor file_{-1};
  bool held_ = false;
  TemporaryName remembered_;
};

Status write(const PackedImage& image, const std::string& path, const NewFile::Options& options) {
  NewFile file;
  FERRY_TRY(file.open(path, options));
  FERRY_TRY(file.write(std::as_bytes(std::span(image.head))));
  uint64_t end = image.head.size();
  const auto fill = [&](uint64_t offset) {  // entries are aligned and padded
    const std::string none(static_cast<size_t>(offset - end), '\0');
    end = offset;
    return file.write(std::as_bytes(std::span(none)));
  };
  for (const PackedImage::Piece& piece : image.pieces) {
    FERRY_TRY(fill(piece.offset));
    FERRY_TRY(file.write(piece.bytes));
    end += piece.bytes.size();
  }
  FERRY_TRY(fill(image.bytes));
  return file.keep();
}

// The first line of a text beside a packed file.
std::string head_of(const PackedTarget& target, std::string_view text) {
  char line[160];
  std::snprintf(line, sizeof line, "%s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", target.content.c_str(),
                target.buffers, target.fingerprint, fnv1a64(text));
  return line;
}

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
  return attach(store, folder, target, Contents::Checked);
}

Status save_cached(PackedStore& store, const char* folder, const PackedTarget& target) {
  FERRY_TRY(make_folder(folder));
  const std::string path = path_of(folder, target);
  WriterLock lock(path);
  FERRY_TRY(lock.take());
  // Merges entries that another process wrote meanwhile; an unreadable file is replaced.
  if (attach(store, folder, target, Contents::Checked).ok()) store.drop_copies();
  if (store.heap_bytes() == 0) return {};
  // Its checksum finds what a power failure leaves. It does not inherit another user's ownership.
  FERRY_TRY(write(make_packed_image(store, target), path, {.durable = false, .like_former = false, .mode = 0644}));
  FERRY_TRY(attach(store, folder, target, Contents::JustWritten));
  store.drop_copies();
  return {};
}

Status write_packed(const PackedStore& store, const PackedTarget& target, const std::string& path) {
  return write(make_packed_image(store, target), path, NewFile::Options());
}

Status read_beside(const std::string& path, const char* suffix, const PackedTarget& target, std::string* text) {
  const std::string name = path + suffix;
  struct stat info;
  if (::lstat(name.c_str(), &info) != 0) return error(FERRY_NOT_FOUND, "there is no '%s'", name.c_str());
  Descriptor file(-1);
  std::unique_ptr<Mapping> mapping;
  if (const Status status = open_own(name, &file, &mapping); !status.ok())
    return error(status.code(), "'%s': %s", name.c_str(), status.message().data());
  const std::span<const std::byte> bytes = mapping->bytes();
  const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t line = all.find('\n');
  if (line == std::string::npos) return error(FERRY_CORRUPT, "'%s' is damaged", name.c_str());
  *text = all.substr(line + 1);
  const std::string head = all.substr(0, line + 1), expected = head_of(target, *text);
  if (head == expected) return {};
  text->clear();
  if (head.size() == expected.size() && head.compare(0, 98, expected, 0, 98) != 0)
    return error(FERRY_UNSUPPORTED, "'%s' is of another blob, device or driver", name.c_str());
  return error(FERRY_CORRUPT, "'%s' is damaged", name.c_str());
}

Status write_beside(const std::string& path, const char* suffix, const PackedTarget& target, const std::string& text) {
  if (const size_t end = path.rfind('/'); end != std::string::npos && end > 0)
    FERRY_TRY(make_folder(path.substr(0, end)));
  PackedImage image;
  image.head = head_of(target, text) + text;
  image.bytes = image.head.size();
  return write(image, path + suffix, {.durable = false, .like_former = false, .mode = 0644});
}

}  // namespace ferry
