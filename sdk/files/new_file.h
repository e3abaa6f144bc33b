// The one way to write a file. The bytes go to a file without a name, or to one with a name that nobody can guess, in
// the folder of the destination; keep() gives it its name. So a reader finds either the former file or the whole new
// one, whatever fails, and two writers of one name never mix their bytes.
//
// A destination is treated as cp does: a link is followed; a device, a FIFO or /dev/stdout is written through; a folder
// is refused. So is a link that leads nowhere, and a link in a folder for everybody (/tmp) that another user made.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sdk/files/temporaries.h"
#include "sdk/status.h"

namespace ferry {

class NewFile {
 public:
  struct Options {
    bool durable = true;  // on the disk before it has its name: for results of long work. A cache needs it not.
    // With the mode and owner of the file that it replaces. A cache's is false: then the file also replaces a link, a
    // device or a FIFO of its name, which somebody else may have put there.
    bool like_former = true;
    bool rewritten = false;  // write_at() and path() are used, also for a device
    mode_t mode = 0666;      // of a file that replaces none, without the bits of umask()
  };

  NewFile() = default;
  ~NewFile();  // removes the file unless kept
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Like all functions here: FERRY_IO_ERROR, "'PATH': cannot be written: ...".
  Status open(const std::string& path, const Options& options);
  Status open(const std::string& path) { return open(path, Options()); }
  Status write(std::span<const std::byte> bytes);  // appends
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);
  // Of the bytes before keep(): the path of a file, or of this process's descriptor.
  std::string path() const;
  Status keep();

 private:
  Status failed() const;
  Status find_destination();
  Status open_through(bool descriptor);
  Status create(const std::string& folder, const std::string& base, mode_t mode);
  template <typename Make>
  bool make_name(const std::string& base, const Make& make);
  Status create_named(const std::string& base, mode_t mode);
  Status take_mode_of_former();
  Status name_it();
  Status copy_to(int other);
  void close() noexcept;

  std::string given_;        // as in messages
  std::string destination_;  // `given_` with links followed
  Options options_;
  struct stat former_ = {};
  bool replaces_ = false;  // `former_` is the destination's
  int fd_ = -1;            // the bytes
  int through_ = -1;       // a device or FIFO; with `rewritten`, the bytes are copied to it at last
  std::string name_;       // temporary; empty: a file without a name
  TemporaryName remembered_;
};

// Writes a file of these bytes.
Status replace_file(const std::string& path, std::span<const std::byte> bytes, const NewFile::Options& options);
inline Status replace_file(const std::string& path, std::span<const std::byte> bytes) {
  return replace_file(path, bytes, NewFile::Options());
}

}  // namespace ferry
