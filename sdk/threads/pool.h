// A session's threads. One loop runs at a time. The caller and the available workers take its indices, first from their
// own range and then from the ends of others.
//
// A loop never waits for a worker that has not begun. An invitation is a ticket, which the worker claims, or the caller
// withdraws when it is out of work. If a worker cannot run, because of another process or a core taken offline, only
// its help is lost. Waits spin for microseconds, then sleep.
#pragma once

#include <pthreadpool.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sdk/threads/cores.h"

namespace ferry {

// State of a run, shared by the running threads and the one that cancels.
enum class Progress { Idle, Running, Cancelled };

class Pool {
 public:
  // The remaining indices of a loop for one of its threads.
  class Share;
  // Run by each thread of a loop: takes indices until none is left.
  using Body = void (*)(void* context, Share& share);

  // Fewer threads than requested are not an error: see missing(). `threads` includes the caller. When `progress` is
  // Cancelled, no further indices are handed out; it may be null, and must outlive the pool. Workers are restricted to
  // `cpus`; empty: not restricted. If all these CPUs go offline, the system moves the threads.
  static std::unique_ptr<Pool> create(size_t threads, const std::atomic<Progress>* progress, const CpuSet& cpus = {});
  // Uses the threads of the caller's pool `lent`, which must outlive this pool and waits by its own policy.
  static std::unique_ptr<Pool> lend(pthreadpool_t lent, const std::atomic<Progress>* progress);
  ~Pool();

  // Upper bound of Share::thread(), for example for workspaces per thread.
  size_t threads() const { return shares_.size(); }
  // Whether the run is cancelled; for long work at one index.
  bool cancelled() const { return is_cancelled(progress_); }
  // Number of requested threads that the system did not start, and the reason (an errno).
  size_t missing() const { return missing_; }
  int reason() const { return reason_; }
  // Moves the calling thread to the workers' CPUs.
  void place_this_thread() const {
    if (cpus_.any()) place_thread(0, cpus_);
  }

  // Runs [0, count): each index once, in any order, unless the run is cancelled. Denormals are flushed meanwhile.
  void run(size_t count, Body body, void* context);
  // The same on the calling thread only.
  static void run_alone(size_t count, Body body, void* context);

 private:
  // The initial range of one thread, from which others may steal.
  struct alignas(64) Range {
    std::atomic<int64_t> remaining{0};  // negative after failed attempts to take an index
    std::atomic<size_t> end{0};         // other threads take from the end
    size_t begin = 0;                   // its own thread takes from the beginning
  };
  struct Worker;

  static bool is_cancelled(const std::atomic<Progress>* progress) {
    return progress != nullptr && progress->load(std::memory_order_relaxed) == Progress::Cancelled;
  }

  explicit Pool(const std::atomic<Progress>* progress);
  void start(size_t threads);
  static void* main_of(void* worker);
  void work(Worker& worker);
  void divide(size_t count, size_t parts);
  // Returns the number of indices taken.
  size_t take_part(size_t part);
  void run_lent(size_t count);
  void choose_workers(size_t count);
  // Withdraws an invitation that was not claimed, or waits for the worker. `item`: the caller's time per index.
  void dismiss(Worker& worker, std::chrono::nanoseconds item);

  std::vector<Range> shares_;
  std::vector<std::unique_ptr<Worker>> workers_;
  const std::atomic<Progress>* progress_;
  CpuSet cpus_;
  pthreadpool_t lent_ = nullptr;
  size_t missing_ = 0;
  int reason_ = 0;
  std::atomic<int> caller_cpu_{-1};  // workers must not spin on this CPU
  // The current loop; written while no worker takes part.
  Body body_ = nullptr;
  void* context_ = nullptr;
  size_t parts_ = 0;
  std::atomic<size_t> parts_done_{0};
  std::vector<Worker*> invited_;
  std::chrono::steady_clock::time_point begun_;
};

class Pool::Share {
 public:
  // Below Pool::threads(); unique within the loop.
  size_t thread() const { return thread_; }

  bool next(size_t* index) {
    if (is_cancelled(progress_)) return false;
    if (from_ == thread_) {
      Range& own = ranges_[thread_];
      if (own.remaining.fetch_sub(1, std::memory_order_relaxed) > 0) {
        *index = begin_++;
        ++taken_;
        return true;
      }
      from_ = (from_ + 1) % count_;
    }
    for (; from_ != thread_; from_ = (from_ + 1) % count_) {
      Range& other = ranges_[from_];
      if (other.remaining.fetch_sub(1, std::memory_order_relaxed) > 0) {
        *index = other.end.fetch_sub(1, std::memory_order_relaxed) - 1;
        ++taken_;
        return true;
      }
    }
    return false;
  }

  // The kind of the core that this thread is on, in cpuinfo's numbering; read at the first call.
  uint32_t core_kind(uint32_t otherwise, uint32_t maximum);

 private:
  friend class Pool;
  Share(Range* ranges, size_t count, size_t thread, const std::atomic<Progress>* progress)
      : ranges_(ranges),
        count_(count),
        thread_(thread),
        from_(thread),
        begin_(ranges[thread].begin),
        progress_(progress) {}

  static constexpr uint32_t kUnknown = UINT32_MAX;
  Range* ranges_;
  size_t count_, thread_, from_, begin_, taken_ = 0;
  const std::atomic<Progress>* progress_;
  uint32_t core_kind_ = kUnknown;
};

}  // namespace ferry
