#include "sdk/files/temporaries.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "sdk/descriptor.h"

namespace ferry {
namespace {

// Static memory, so that a handler never reads a name that another thread has freed.
struct Unfinished {
  std::atomic<int> state = 0;  // kFree, kTaken, or a kind
  std::atomic<pid_t> process = 0;
  char path[1024] = {};
};
constexpr int kFree = 0, kTaken = 1, kFile = 2, kFolder = 3;
constinit Unfinished unfinished[16];

// What getdents64() fills in.
struct FolderEntry {
  uint64_t inode;
  int64_t next;
  uint16_t bytes;
  uint8_t type;
  char name[1];
};

// Without memory and locks, which a signal may have interrupted.
void remove_tree(int parent, const char* name, int depth) noexcept {
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0 && depth < 32) {
    alignas(FolderEntry) char buffer[1024];
    for (long bytes; (bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
      for (long at = 0; at < bytes;) {
        const auto& entry = *reinterpret_cast<const FolderEntry*>(buffer + at);
        at += entry.bytes;
        const char* const child = reinterpret_cast<const char*>(&entry) + offsetof(FolderEntry, name);
        if (strcmp(child, ".") == 0 || strcmp(child, "..") == 0) continue;
        if (unlinkat(folder, child, 0) != 0) remove_tree(folder, child, depth + 1);
      }
  }
  if (folder >= 0) close(folder);
  unlinkat(parent, name, AT_REMOVEDIR);
}

}  // namespace

void TemporaryName::remember(const std::string& path, Kind kind) noexcept {
  forget();
  if (path.size() >= sizeof Unfinished::path) return;
  for (Unfinished& slot : unfinished) {
    int free = kFree;
    if (!slot.state.compare_exchange_strong(free, kTaken)) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.process = getpid();
    slot.state = kind == Kind::File ? kFile : kFolder;
    slot_ = static_cast<int>(&slot - unfinished);
    return;
  }
}

void TemporaryName::forget() noexcept {
  if (slot_ >= 0) unfinished[slot_].state = kFree;
  slot_ = -1;
}

void remove_temporaries() noexcept {
  for (Unfinished& slot : unfinished) {
    const int state = slot.state;
    if (state < kFile || slot.process != getpid()) continue;  // after fork(), the parent's are not the child's
    if (state == kFile)
      unlink(slot.path);
    else
      remove_tree(AT_FDCWD, slot.path, 0);
  }
}

std::string random_letters() {
  uint64_t bits = 0;
  bool random = false;
#ifdef SYS_getrandom
  random = syscall(SYS_getrandom, &bits, sizeof bits, 1u /* GRND_NONBLOCK */) == static_cast<long>(sizeof bits);
#endif
  if (!random) {
    const Descriptor file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
    random = file.ok() && read(file.get(), &bits, sizeof bits) == static_cast<ssize_t>(sizeof bits);
  }
  if (!random) {  // a name of a file only has to be new, which O_EXCL ensures
    static std::atomic<uint64_t> count = 0;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    bits =
        (static_cast<uint64_t>(now.tv_nsec) + (++count << 32) + static_cast<uint64_t>(getpid())) * 0x9e3779b97f4a7c15u;
  }
  std::string letters(12, '\0');
  for (char& letter : letters) {
    letter = "abcdefghijkmnpqrstuvwxyz23456789"[bits & 31];
    bits >>= 5;
  }
  return letters;
}

}  // namespace ferry
