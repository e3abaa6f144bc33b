// Compares a blob's constants, packed weights and text with the checksums that the converter wrote: once a file, beside
// the first runs. A damaged file would otherwise run and answer wrongly.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sdk/model/mapping.h"
#include "sdk/status.h"

namespace ferry {

// Thread-safe.
class WeightCheck {
 public:
  struct Part {
    std::span<const std::byte> bytes;
    uint64_t checksum;  // XXH64
    const char* name;   // of the constant; valid as long as the bytes
    bool in_use;        // by the runs, so the pages stay in memory
  };

  // `parts` are bytes of `mapping`; both must outlive this.
  WeightCheck(std::vector<Part> parts, const Mapping& mapping);
  ~WeightCheck();  // ends the check
  WeightCheck(const WeightCheck&) = delete;
  WeightCheck& operator=(const WeightCheck&) = delete;

  // Begins, unless it has begun or a record in `cache_dir` (null or "": none) says that this very file was checked. The
  // check leaves such a record. Little is checked at once, otherwise in a thread of low priority. What exceeds half of
  // the machine's memory is left to wait(), since reading it would push the weights in use out of memory.
  void begin(const char* cache_dir);
  // While one exists, a run computes: the thread takes 1 % of a core at most, so that the run has all cores for itself.
  class DuringRun {
   public:
    explicit DuringRun(WeightCheck& check) : check_(check) { ++check_.runs_; }
    ~DuringRun() { --check_.runs_; }
    DuringRun(const DuringRun&) = delete;
    DuringRun& operator=(const DuringRun&) = delete;

   private:
    WeightCheck& check_;
  };
  // FERRY_CORRUPT, with the name of the part: damage was found so far.
  Status status() const;
  // Completes the check without regard to runs, also one that was not begun. FERRY_CORRUPT likewise.
  Status wait();

 private:
  enum class State { Idle, Running, Done };

  static void* enter(void* self);
  void check();  // with the lock, like finish()
  void finish(const Part* damaged);
  const Part* find_damage(bool in_thread);  // null: none, or stopped
  void give_way(double* since);             // to runs; CPU seconds of the thread at the last call that slept
  uint64_t checksum() const;                // of all checksums

  const std::vector<Part> parts_;
  const Mapping& mapping_;
  std::string cache_dir_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::Idle;
  bool has_thread_ = false;
  pthread_t thread_ = {};
  std::atomic<bool> stopping_ = false, awaited_ = false;
  std::atomic<int> runs_ = 0;
  std::atomic<const Part*> damaged_ = nullptr;
};

}  // namespace ferry
