// A session's threads. One loop runs at a time: the caller and the workers that are there take its indices, each from a
// share of its own and then from the others' ends.
//
// A loop never waits for a worker that has not begun: an invitation is a ticket that the worker claims or the caller,
// when it is out of work, takes back. So whatever keeps a worker from running (a neighbour, a core taken away) costs
// its help, not the run. Waits spin for microseconds, then sleep.
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

// Where a run stands, as the threads that run and the one that cancels see it.
enum class Progress { Idle, Running, Cancelled };

class Pool {
 public:
  // What is left of a loop for one of the threads in it.
  class Share;
  // What each thread in a loop does: takes indices until there are none.
  using Body = void (*)(void* context, Share& share);

  // Fewer threads than asked for are no failure: see missing(). `threads` counts the caller. A run whose `progress` is
  // Cancelled is given no further indices; it may be null, and outlives the pool. Workers keep to `cpus`; none:
  // wherever the system puts them. Which of them there are may change at any time: who has none left is moved by the
  // system.
  static std::unique_ptr<Pool> create(size_t threads, const std::atomic<Progress>* progress, const CpuSet& cpus = {});
  // Over the threads of the caller's `lent`, which outlives the pool, and waits as that pool does.
  static std::unique_ptr<Pool> lend(pthreadpool_t lent, const std::atomic<Progress>* progress);
  ~Pool();

  // Numbers that Share::thread() is below: a kernel's workspace is for so many.
  size_t threads() const { return shares_.size(); }
  // Whether nobody waits for the run any more: for what works long at one index.
  bool cancelled() const { return is_cancelled(progress_); }
  // Of the threads asked for, those which the system would not start, and its reason (an errno).
  size_t missing() const { return missing_; }
  int reason() const { return reason_; }
  // Puts the calling thread where the workers are.
  void place_this_thread() const {
    if (cpus_.any()) place_thread(0, cpus_);
  }

  // Hands out [0, count), each index once, in any order, unless the run is cancelled. Denormals are flushed meanwhile.
  void run(size_t count, Body body, void* context);
  // The same on this thread alone.
  static void run_alone(size_t count, Body body, void* context);

 private:
  // What one thread starts with, and what the others may take of it.
  struct alignas(64) Range {
    std::atomic<int64_t> remaining{0};  // below 0: as often as somebody found nothing
    std::atomic<size_t> end{0};         // others take from here
    size_t begin = 0;                   // its own thread from here
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
  // Returns how many indices it took.
  size_t take_part(size_t part);
  void run_lent(size_t count);
  void choose_workers(size_t count);
  // Takes an invitation back that was not claimed, or waits. `item`: what the caller needed for an index.
  void dismiss(Worker& worker, std::chrono::nanoseconds item);

  std::vector<Range> shares_;
  std::vector<std::unique_ptr<Worker>> workers_;
  const std::atomic<Progress>* progress_;
  CpuSet cpus_;
  pthreadpool_t lent_ = nullptr;
  size_t missing_ = 0;
  int reason_ = 0;
  std::atomic<int> caller_cpu_{-1};  // where no worker should spin
  // The loop at hand: written while no worker takes part.
  Body body_ = nullptr;
  void* context_ = nullptr;
  size_t parts_ = 0;
  std::atomic<size_t> parts_done_{0};
  std::vector<Worker*> invited_;
  std::chrono::steady_clock::time_point begun_;
};

class Pool::Share {
 public:
  // Below Pool::threads(), and another one for every thread in the loop.
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

  // The kind of core that this thread is on, as cpuinfo counts them, at the first call.
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
