#include "sdk/files/new_file.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sdk/descriptor.h"

namespace ferry {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's limit

// "a/b/" of "a/b/c"; "" of "c".
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::string existing(std::string folder) { return folder.empty() ? "." : std::move(folder); }

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Entries of /proc/self/fd look like links, and lead to a pipe or to an open file.
bool is_descriptor(const std::string& link) {
  constexpr auto kProc = 0x9fa0;
  struct statfs info;
  return statfs(existing(folder_of(link)).c_str(), &info) == 0 && info.f_type == kProc;
}

// As the kernel refuses (fs.protected_symlinks): in a folder like /tmp, a link that neither this user nor the folder's
// owner made.
bool is_trap(const std::string& link, const struct stat& info) {
  struct stat folder;
  if (info.st_uid == geteuid() || stat(existing(folder_of(link)).c_str(), &folder) != 0) return false;
  constexpr mode_t kForEverybody = S_ISVTX | S_IWOTH;
  return (folder.st_mode & kForEverybody) == kForEverybody && folder.st_uid != info.st_uid;
}

bool follow(std::string* path) {
  std::string target(4096, '\0');
  const ssize_t length = readlink(path->c_str(), target.data(), target.size());
  if (length <= 0) return false;
  target.resize(static_cast<size_t>(length));
  *path = target.front() == '/' ? target : folder_of(*path) + target;
  return true;
}

// Some file systems cannot synchronise a file or a folder; they lose nothing by it.
bool synchronised(int fd) { return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS; }

bool write_all(int fd, std::span<const std::byte> bytes, int64_t offset = -1) {
  while (!bytes.empty()) {
    const size_t part = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t n =
        offset < 0 ? ::write(fd, bytes.data(), part) : pwrite(fd, bytes.data(), part, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
    if (offset >= 0) offset += n;
  }
  return true;
}

}  // namespace

NewFile::~NewFile() { close(); }

void NewFile::close() noexcept {
  const int error = errno;
  for (int* fd : {&fd_, &through_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  if (!name_.empty()) unlink(name_.c_str());
  name_.clear();
  remembered_.forget();
  errno = error;
}

Status NewFile::failed() const {
  return error(FERRY_IO_ERROR, "'%s': cannot be written: %s", given_.c_str(), std::strerror(errno));
}

Status NewFile::open(const std::string& path, const Options& options) {
  close();
  given_ = destination_ = path;
  options_ = options;
  replaces_ = false;
  if (path.empty()) return error(FERRY_IO_ERROR, "'': cannot be written: a file needs a name");
  if (options.like_former) FERRY_TRY(find_destination());
  const size_t base = folder_of(destination_).size();
  if (through_ < 0)
    return create(folder_of(destination_), destination_.substr(base),
                  replaces_ ? former_.st_mode & 0777 : options.mode);
  if (!options.rewritten) return {};
  const char* const scratch = std::getenv("TMPDIR");
  FERRY_TRY(create(std::string(scratch != nullptr && *scratch != '\0' ? scratch : "/tmp") + "/", "ferry", 0600));
  if (!name_.empty()) unlink(name_.c_str());
  name_.clear();
  remembered_.forget();
  return {};
}

// Follows links; opens a device.
Status NewFile::find_destination() {
  for (int links = 0;; ++links) {
    if (lstat(destination_.c_str(), &former_) != 0) {
      if (errno != ENOENT) return failed();
      if (links > 0)
        return error(FERRY_IO_ERROR, "'%s': cannot be written: it is a link to '%s', which does not exist",
                     given_.c_str(), destination_.c_str());
      if (destination_.back() == '/')
        return error(FERRY_IO_ERROR, "'%s': cannot be written: it is the name of a folder", given_.c_str());
      return {};
    }
    if (S_ISDIR(former_.st_mode))
      return error(FERRY_IO_ERROR, "'%s': cannot be written: it is a folder: name a file in it", given_.c_str());
    replaces_ = S_ISREG(former_.st_mode);
    if (replaces_) return {};
    if (!S_ISLNK(former_.st_mode)) return open_through(false);
    if (is_descriptor(destination_)) return open_through(true);
    if (is_trap(destination_, former_))
      return error(FERRY_IO_ERROR,
                   "'%s': cannot be written: '%s' is a link that another user made, in a folder for everybody",
                   given_.c_str(), destination_.c_str());
    if (links == kMaxLinks) errno = ELOOP;
    if (links == kMaxLinks || !follow(&destination_)) return failed();
  }
}

// `descriptor`: it is an entry of /proc/PROCESS/fd. This process's is duplicated, so that what is written follows what
// was printed there.
Status NewFile::open_through(bool descriptor) {
  constexpr int kFlags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
  if (descriptor) {
    const int number = std::atoi(destination_.c_str() + folder_of(destination_).size());
    struct stat ours, there;
    if (fstat(number, &ours) == 0 && stat(destination_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
      through_ = fcntl(number, F_DUPFD_CLOEXEC, 3);
    else
      through_ = ::open(destination_.c_str(), kFlags | O_APPEND);
  } else {
    through_ = ::open(destination_.c_str(), kFlags | O_NOFOLLOW);
  }
  return through_ < 0 ? failed() : Status();
}

Status NewFile::create(const std::string& folder, const std::string& base, mode_t mode) {
#ifdef O_TMPFILE
  // A file without a name: a process that is killed leaves nothing.
  fd_ = ::open(existing(folder).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd_ >= 0 && access(descriptor_path(fd_).c_str(), F_OK) == 0) return {};
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
#endif
  return create_named(folder + base, mode);
}

// Tries new names until make(name) is true or fails otherwise than by one that exists.
template <typename Make>
bool NewFile::make_name(const std::string& base, const Make& make) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = base + "." + random_letters() + ".part";
    remembered_.remember(name);
    if (make(name.c_str())) {
      name_ = std::move(name);
      return true;
    }
    remembered_.forget();
    if (errno != EEXIST) break;
  }
  return false;
}

// For file systems and sandboxes without such files.
Status NewFile::create_named(const std::string& base, mode_t mode) {
  // A name may have 255 bytes.
  const size_t folder = folder_of(base).size();
  const bool made = make_name(base.substr(0, folder + 200), [&](const char* name) {
    fd_ = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return fd_ >= 0;
  });
  return made ? Status() : failed();
}

Status NewFile::write(std::span<const std::byte> bytes) {
  return write_all(fd_ >= 0 ? fd_ : through_, bytes) ? Status() : failed();
}

Status NewFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  return write_all(fd_, bytes, static_cast<int64_t>(offset)) ? Status() : failed();
}

std::string NewFile::path() const { return name_.empty() ? descriptor_path(fd_) : name_; }

// A user who may not give files away keeps what is possible, without the bits that lend rights.
Status NewFile::take_mode_of_former() {
  struct stat now;
  if (fstat(fd_, &now) != 0) return failed();
  mode_t mode = former_.st_mode & 07777;
  if ((now.st_uid != former_.st_uid || now.st_gid != former_.st_gid) &&
      fchown(fd_, former_.st_uid, former_.st_gid) != 0) {
    mode &= 0777;
    if (fchown(fd_, static_cast<uid_t>(-1), former_.st_gid) != 0) mode &= 0707;
  }
  // File systems without modes refuse it.
  if ((now.st_mode & 07777) != mode && fchmod(fd_, mode) != 0 && errno != EPERM && errno != ENOTSUP) return failed();
  return {};
}

Status NewFile::copy_to(int other) {
  std::byte buffer[size_t{1} << 14];
  for (off_t at = 0;;) {
    const ssize_t n = pread(fd_, buffer, sizeof buffer, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || !write_all(other, {buffer, static_cast<size_t>(n)})) return failed();
    if (n == 0) return {};
    at += n;
  }
}

// Gives a file without a name a temporary one, by a link to its descriptor, or by a copy where links are forbidden.
Status NewFile::name_it() {
  const std::string own = descriptor_path(fd_);
  const std::string base = folder_of(destination_) + "ferry";
  const auto link = [&](const char* name) {
    return linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  };
  if (make_name(base, link)) return {};
  const int unnamed = std::exchange(fd_, -1);
  Status status = create_named(base, replaces_ ? former_.st_mode & 0777 : options_.mode);
  const int named = std::exchange(fd_, unnamed);
  if (status.ok()) status = copy_to(named);
  fd_ = named;
  ::close(unnamed);
  return status;
}

Status NewFile::keep() {
  Status status;
  if (through_ >= 0) {
    if (fd_ >= 0) status = copy_to(through_);
    if (status.ok() && ::close(std::exchange(through_, -1)) != 0) status = failed();
    close();
    return status;
  }
  if (name_.empty()) FERRY_TRY(name_it());
  if (replaces_ && options_.like_former) FERRY_TRY(take_mode_of_former());
  if (options_.durable && !synchronised(fd_)) return failed();
  // Some file systems report a full disk on close().
  if (::close(std::exchange(fd_, -1)) != 0 || rename(name_.c_str(), destination_.c_str()) != 0) return failed();
  name_.clear();
  remembered_.forget();
  if (options_.durable) {
    const Descriptor folder(::open(existing(folder_of(destination_)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.ok()) (void)synchronised(folder.get());
  }
  return {};
}

Status replace_file(const std::string& path, std::span<const std::byte> bytes, const NewFile::Options& options) {
  NewFile file;
  FERRY_TRY(file.open(path, options));
  FERRY_TRY(file.write(bytes));
  return file.keep();
}

}  // namespace ferry
