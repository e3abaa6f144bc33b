#include "sdk/model/weight_check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sdk/descriptor.h"
#include "sdk/files/folder.h"
#include "sdk/files/new_file.h"
#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"

namespace ferry {
namespace {

constexpr size_t kCheckedAtOnce = size_t{1} << 20;  // bytes: without a thread, and between looks at stopping_
constexpr int kNice = 10;

uint64_t memory_bytes() {
  return static_cast<uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
         static_cast<uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
}

std::string read_record(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, 256> text;
  const ssize_t size = file.ok() ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

WeightCheck::WeightCheck(std::vector<Part> parts, const Mapping& mapping)
    : parts_(std::move(parts)), mapping_(mapping) {}

WeightCheck::~WeightCheck() {
  stopping_ = true;
  if (has_thread_) pthread_join(thread_, nullptr);
}

void WeightCheck::begin(const char* cache_dir) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Idle) return;
  if (cache_dir != nullptr) cache_dir_ = cache_dir;
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes.size();
  if (const std::string path = record_path(); !path.empty() && read_record(path) == stamp()) {
    state_ = State::Done;
  } else if (bytes <= kCheckedAtOnce) {
    check();
  } else if (bytes <= memory_bytes() / 2) {
    has_thread_ = pthread_create(&thread_, nullptr, enter, this) == 0;
    if (has_thread_) state_ = State::Running;
  }
}

Status WeightCheck::status() const {
  const Part* damaged = damaged_;
  if (damaged == nullptr) return {};
  return error(FERRY_CORRUPT, "the weights are damaged: '%.200s' does not have the checksum that was written",
               damaged->name);
}

Status WeightCheck::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::Running; });
  if (state_ == State::Idle) check();
  return status();
}

void* WeightCheck::enter(void* self) {
  auto& own = *static_cast<WeightCheck*>(self);
#if defined(__linux__)
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
#endif
  const Part* damaged = own.find_damage();
  const std::lock_guard lock(own.mutex_);
  own.finish(damaged);
  return nullptr;
}

void WeightCheck::check() { finish(find_damage()); }

void WeightCheck::finish(const Part* damaged) {
  damaged_ = damaged;
  state_ = State::Done;
  changed_.notify_all();
  if (damaged != nullptr || stopping_) return;
  // A record that cannot be written is missed at the next start, no more.
  const std::string path = record_path();
  if (path.empty() || !make_folder(cache_dir_).ok()) return;
  const std::string text = stamp();
  (void)replace_file(path, std::as_bytes(std::span(text)), {.durable = false, .like_former = false, .mode = 0600});
}

const WeightCheck::Part* WeightCheck::find_damage() const {
  for (const Part& part : parts_) {
    Xxh64 hash;
    for (size_t at = 0; at < part.bytes.size() && !stopping_; at += kCheckedAtOnce) {
      const auto piece = part.bytes.subspan(at, std::min(kCheckedAtOnce, part.bytes.size() - at));
      hash.update(piece);
      if (piece.size() == kCheckedAtOnce) mapping_.forget(piece);  // large weights are mostly read in packed form
    }
    if (stopping_) return nullptr;
    if (std::max<uint64_t>(hash.digest(), 1) != part.checksum) return &part;  // 0 is none
  }
  return nullptr;
}

std::string WeightCheck::record_path() const {
  const FileStamp* file = mapping_.file();
  if (file == nullptr || cache_dir_.empty()) return {};
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "/checked-%" PRIx64 "-%" PRIx64 "-%" PRIx64, file->device, file->inode,
                file->offset);
  return cache_dir_ + name.data();
}

std::string WeightCheck::stamp() const {
  const FileStamp& file = *mapping_.file();
  Xxh64 all;
  for (const Part& part : parts_) all.update(std::as_bytes(std::span(&part.checksum, 1)));
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), "%" PRIu64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", file.size,
                file.modified, file.changed, all.digest());
  return text.data();
}

}  // namespace ferry
