#include "sdk/model/checked_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string_view>

#include "sdk/descriptor.h"
#include "sdk/files/folder.h"
#include "sdk/files/new_file.h"

namespace ferry {
namespace {

// One for an inode, so that a file that is written again has no second record.
std::string record_of(const std::string& folder, const FileStamp& file) {
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "/checked-%" PRIx64 "-%" PRIx64 "-%" PRIx64, file.device, file.inode,
                file.offset);
  return folder + name.data();
}

std::string text_of(const FileStamp& file, uint64_t checksum) {
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), "%" PRIu64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", file.size,
                file.modified, file.changed, checksum);
  return text.data();
}

}  // namespace

bool was_checked(const std::string& folder, const FileStamp& file, uint64_t checksum) {
  if (folder.empty()) return false;
  const Descriptor record(::open(record_of(folder, file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, 256> text;
  const bool own = record.ok() && check_file_is_own(record.get()).ok();
  const ssize_t size = own ? ::read(record.get(), text.data(), text.size()) : 0;
  return size > 0 && text_of(file, checksum) == std::string_view(text.data(), static_cast<size_t>(size));
}

void remember_checked(const std::string& folder, const FileStamp& file, uint64_t checksum) {
  if (folder.empty() || !make_folder(folder).ok()) return;
  const std::string text = text_of(file, checksum);
  (void)replace_file(record_of(folder, file), std::as_bytes(std::span(text)),
                     {.durable = false, .like_former = false, .mode = 0600});
}

}  // namespace ferry
