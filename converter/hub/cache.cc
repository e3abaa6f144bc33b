#include "converter/hub/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>

#include "converter/error.h"
#include "converter/write_file.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

void make_folder_of(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) fail("%s: cannot be made: %s", file.parent_path().c_str(), error.message().c_str());
}

}  // namespace

bool is_commit(const std::string& revision) {
  return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == revision.npos;
}

HubCache::HubCache(const fs::path& cache, const std::string& repository) {
  const size_t slash = repository.find('/');
  const std::string name = "models--" + repository.substr(0, slash) + "--" + repository.substr(slash + 1);
  folder_ = cache / name;
  locks_ = cache / ".locks" / name;
}

std::string HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  std::ifstream file(folder_ / "refs" / revision);
  std::string commit;
  file >> commit;
  return is_commit(commit) ? commit : "";
}

void HubCache::remember(const std::string& revision, const std::string& commit) const {
  if (is_commit(revision)) return;
  const fs::path path = folder_ / "refs" / revision;
  make_folder_of(path);
  write_file(path, std::as_bytes(std::span(commit)));
}

std::vector<std::string> HubCache::files(const std::string& commit) const {
  std::vector<std::string> names;
  const fs::path folder = snapshot(commit);
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) names.push_back(it->path().lexically_relative(folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

void HubCache::link(const std::string& commit, const std::string& file, const std::string& etag) const {
  const fs::path path = snapshot(commit) / file;
  make_folder_of(path);
  // Created beside and renamed: another process may be reading or creating the same link.
  const fs::path made = folder_ / ("link." + random_letters());
  TemporaryName remembered;
  remembered.remember(made);
  std::error_code error;
  fs::create_symlink(blob(etag).lexically_relative(path.parent_path()), made, error);
  if (!error) {
    fs::rename(made, path, error);
    std::error_code ignored;
    if (error) fs::remove(made, ignored);
  }
  if (error) fail("%s: cannot be made a link: %s", path.c_str(), error.message().c_str());
}

HubCache::Lock::Lock(const HubCache& cache, const std::string& etag) {
  const fs::path path = cache.locks_ / (etag + ".lock");
  make_folder_of(path);
  make_folder_of(cache.blob(etag));
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("%s: cannot be opened: %s", path.c_str(), std::strerror(errno));
  while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

HubCache::Lock::~Lock() { close(fd_); }

}  // namespace ferry
