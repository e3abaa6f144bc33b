#include "sdk/model/weight_check.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sdk/attempt.h"
#include "sdk/model/checked_files.h"
#include "sdk/model/xxh64.h"

namespace ferry {
namespace {

constexpr size_t kCheckedAtOnce = size_t{1} << 20;  // bytes: without a thread, and between looks at stopping_
constexpr int kNice = 10;
constexpr int kShareOfRuns = 100;    // one part in so many
constexpr double kLeastWork = 1e-4;  // seconds between two pauses

// Of the calling thread.
double cpu_seconds() {
  timespec time = {};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

uint64_t memory_bytes() {
  return static_cast<uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
         static_cast<uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
}

}  // namespace

WeightCheck::WeightCheck(std::vector<Part> parts, const Mapping& mapping)
    : parts_(std::move(parts)), mapping_(mapping) {}

WeightCheck::~WeightCheck() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (has_thread_) pthread_join(thread_, nullptr);
}

void WeightCheck::begin(const char* cache_dir) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Idle) return;
  if (cache_dir != nullptr) cache_dir_ = cache_dir;
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes.size();
  if (parts_.empty() || (mapping_.file() != nullptr && was_checked(cache_dir_, *mapping_.file(), checksum()))) {
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
  return error(FERRY_CORRUPT, "the blob is damaged: '%.200s' does not have the checksum that was written",
               damaged->name);
}

Status WeightCheck::wait() {
  std::unique_lock lock(mutex_);
  awaited_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return state_ != State::Running; });
  if (state_ == State::Idle) check();
  return status();
}

void* WeightCheck::enter(void* self) {
  auto& own = *static_cast<WeightCheck*>(self);
#if defined(__linux__)
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
#endif
  const Part* damaged = own.find_damage(/*in_thread=*/true);
  const std::lock_guard lock(own.mutex_);
  own.finish(damaged);
  return nullptr;
}

void WeightCheck::check() { finish(find_damage(/*in_thread=*/false)); }

void WeightCheck::finish(const Part* damaged) {
  damaged_ = damaged;
  state_ = State::Done;
  changed_.notify_all();
  if (damaged != nullptr || stopping_ || mapping_.file() == nullptr) return;
  // Without memory there is no record.
  (void)attempt([&]() -> Status {
    remember_checked(cache_dir_, *mapping_.file(), checksum());
    return {};
  });
}

// A nice thread still delays threads that wait for each other where no core is free, so it must mostly sleep.
void WeightCheck::give_way(double* since) {
  const double now = cpu_seconds(), worked = now - *since;
  const bool run = runs_ > 0 && !awaited_;
  if (run && worked < kLeastWork) return;
  *since = now;
  if (!run) return;
  std::unique_lock lock(mutex_);
  // Of the system's clock: to wait by another one is newer than Android 7.
  const auto pause = std::chrono::microseconds(static_cast<int64_t>(worked * (kShareOfRuns - 1) * 1e6));
  changed_.wait_until(lock, std::chrono::system_clock::now() + pause, [&] { return stopping_ || awaited_; });
}

const WeightCheck::Part* WeightCheck::find_damage(bool in_thread) {
  double since = cpu_seconds();
  for (const Part& part : parts_) {
    Xxh64 hash;
    for (size_t at = 0; at < part.bytes.size() && !stopping_; at += kCheckedAtOnce) {
      const auto piece = part.bytes.subspan(at, std::min(kCheckedAtOnce, part.bytes.size() - at));
      hash.update(piece);
      // Large constants are mostly read in packed form.
      if (piece.size() == kCheckedAtOnce && !part.in_use) mapping_.forget(piece);
      if (in_thread) give_way(&since);
    }
    if (stopping_) return nullptr;
    if (std::max<uint64_t>(hash.digest(), 1) != part.checksum) return &part;  // 0 is none
  }
  return nullptr;
}

uint64_t WeightCheck::checksum() const {
  Xxh64 all;
  for (const Part& part : parts_) all.update(std::as_bytes(std::span(&part.checksum, 1)));
  return all.digest();
}

}  // namespace ferry
