#include "sdk/threads/pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "sdk/threads/cpuinfo.h"
#include "sdk/threads/denormals.h"

namespace ferry {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// How long a wait spins: several times the wake-up latency of a thread.
constexpr microseconds kSpin{100};
// A worker that has not begun after this time is kept from running, perhaps by the caller's own core.
constexpr microseconds kLate{100};
// If the caller waits this long for a worker's last index, something else occupies the worker's core.
constexpr microseconds kStall{300};
// Minimum and maximum time that such a worker is not invited.
constexpr microseconds kShortestRest{2000}, kLongestRest{250000};

// Hints to the core that this is a spin loop; takes some tens of nanoseconds.
void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#elif defined(__arm__)
  __asm__ __volatile__("yield" ::: "memory");
#endif
}

// Spins until done(), for at most kSpin.
template <typename Done>
bool spin_until(const Done& done) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause();
    }
    if (Clock::now() - begin > kSpin) return false;
  }
}

}  // namespace

// The state of a worker, shared with the caller in one word. The caller invites; then either the worker claims the
// invitation or the caller withdraws it. The worker reports the end. Both sleep on this word.
enum class Ticket : int { Idle, Asleep, Invited, Claimed, Awaited, Closed };

struct Pool::Worker {
  alignas(64) std::atomic<Ticket> ticket{Ticket::Idle};
  std::atomic<pid_t> id{0};  // 0: not known yet
  Pool* pool = nullptr;
  size_t part = 0;  // part of the loop: written before the invitation
  pthread_t thread{};

  // Used by the caller only.
  Clock::time_point resting_until{}, moved{};
  Clock::duration rest{};

  void leave_alone(Clock::time_point now, Clock::duration stall);
  void move_off_this_core(Clock::time_point now);
};

// Called when the caller waited in vain. If this follows soon after the last time, the rest doubles; otherwise it is in
// proportion to the loss. Waiting therefore costs a small fraction of the time, whatever other processes do.
void Pool::Worker::leave_alone(Clock::time_point now, Clock::duration stall) {
  const bool again = now - resting_until < 8 * rest;
  rest = again ? 2 * rest : 4 * stall;
  rest = std::clamp<Clock::duration>(rest, kShortestRest, kLongestRest);
  resting_until = now + rest;
}

// Schedulers tend to queue a woken thread on its waker's core, where it waits for the caller's whole time slice.
void Pool::Worker::move_off_this_core(Clock::time_point now) {
  const pid_t thread_id = id.load(std::memory_order_relaxed);
  const auto here = static_cast<size_t>(sched_getcpu());
  CpuSet cpus;
  if (now - moved < kShortestRest || thread_id == 0 || here >= cpus.size()) return;
  moved = now;
  cpus = pool->cpus_.any() ? pool->cpus_ : allowed_cpus();
  cpus[here] = false;
  if (cpus.any()) place_thread(thread_id, cpus);
}

std::unique_ptr<Pool> Pool::create(size_t threads, const std::atomic<Progress>* progress, const CpuSet& cpus) {
  std::unique_ptr<Pool> pool(new Pool(progress));
  pool->cpus_ = cpus;
  pool->start(threads);
  return pool;
}

std::unique_ptr<Pool> Pool::lend(pthreadpool_t lent, const std::atomic<Progress>* progress) {
  std::unique_ptr<Pool> pool(new Pool(progress));
  pool->lent_ = lent;
  pool->shares_ = std::vector<Range>(pthreadpool_get_threads_count(lent));
  return pool;
}

Pool::Pool(const std::atomic<Progress>* progress) : progress_(progress) {}

void Pool::start(size_t threads) {
  workers_.reserve(threads - 1);
  while (workers_.size() + 1 < threads) {
    auto worker = std::make_unique<Worker>();
    worker->pool = this;
    reason_ = pthread_create(&worker->thread, nullptr, main_of, worker.get());
    if (reason_ != 0) break;
    workers_.push_back(std::move(worker));
  }
  missing_ = threads - 1 - workers_.size();
  invited_.reserve(workers_.size());
  shares_ = std::vector<Range>(1 + workers_.size());
}

Pool::~Pool() {
  for (const auto& worker : workers_) {
    worker->ticket.store(Ticket::Closed);
    worker->ticket.notify_one();
  }
  for (const auto& worker : workers_) pthread_join(worker->thread, nullptr);
}

void* Pool::main_of(void* worker) {
  Worker& own = *static_cast<Worker*>(worker);
#if defined(__linux__)
  own.id.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
#endif
  own.pool->place_this_thread();
  const FlushDenormals flush;
  own.pool->work(own);
  return nullptr;
}

void Pool::work(Worker& worker) {
  std::atomic<Ticket>& ticket = worker.ticket;
  const auto called = [&] {
    const Ticket now = ticket.load(std::memory_order_relaxed);
    return now == Ticket::Invited || now == Ticket::Closed;
  };
  // A worker that spins on the caller's core would delay the caller.
  const auto no_use = [&] { return called() || sched_getcpu() == caller_cpu_.load(std::memory_order_relaxed); };
  for (;;) {
    spin_until(no_use);
    Ticket idle = Ticket::Idle;
    if (!called() && ticket.compare_exchange_strong(idle, Ticket::Asleep)) ticket.wait(Ticket::Asleep);
    Ticket invited = Ticket::Invited;
    if (ticket.compare_exchange_strong(invited, Ticket::Claimed, std::memory_order_acquire)) {
      take_part(worker.part);
      if (ticket.exchange(Ticket::Idle, std::memory_order_release) == Ticket::Awaited) ticket.notify_one();
    } else if (invited == Ticket::Closed) {
      return;
    }
  }
}

void Pool::divide(size_t count, size_t parts) {
  parts_ = parts;
  size_t begin = 0;
  for (size_t part = 0; part < parts; ++part) {
    const size_t length = count / parts + (part < count % parts);
    Range& range = shares_[part];
    range.begin = begin;
    begin += length;
    range.end.store(begin, std::memory_order_relaxed);
    range.remaining.store(static_cast<int64_t>(length), std::memory_order_relaxed);
  }
}

size_t Pool::take_part(size_t part) {
  Share share(shares_.data(), parts_, part, progress_);
  body_(context_, share);
  return share.taken_;
}

void Pool::run(size_t count, Body body, void* context) {
  if (count == 0) return;
  const FlushDenormals flush;
  body_ = body;
  context_ = context;
  if (lent_ != nullptr) return run_lent(count);
  choose_workers(count);
  divide(count, 1 + invited_.size());
  for (size_t i = 0; i < invited_.size(); ++i) {
    Worker& worker = *invited_[i];
    worker.part = 1 + i;
    if (worker.ticket.exchange(Ticket::Invited, std::memory_order_acq_rel) == Ticket::Asleep)
      worker.ticket.notify_one();
  }
  const size_t taken = take_part(0);
  if (invited_.empty()) return;
  const auto item = (Clock::now() - begun_) / std::max<size_t>(taken, 1);
  for (Worker* worker : invited_) dismiss(*worker, item);
}

// Every part is one index of the external pool. That pool orders memory itself; the counter makes this visible to
// ThreadSanitizer.
void Pool::run_lent(size_t count) {
  divide(count, std::min(count, threads()));
  parts_done_.store(0, std::memory_order_release);
  const auto part = [](void* context, size_t i) {
    Pool& pool = *static_cast<Pool*>(context);
    (void)pool.parts_done_.load(std::memory_order_acquire);
    pool.take_part(i);
    pool.parts_done_.fetch_add(1, std::memory_order_acq_rel);
  };
  pthreadpool_parallelize_1d(lent_, part, this, parts_, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  (void)parts_done_.load(std::memory_order_acquire);
}

void Pool::run_alone(size_t count, Body body, void* context) {
  const FlushDenormals flush;
  Range all;
  all.remaining.store(static_cast<int64_t>(count), std::memory_order_relaxed);
  Share share(&all, 1, 0, nullptr);
  body(context, share);
}

void Pool::choose_workers(size_t count) {
  invited_.clear();
  if (count == 1 || workers_.empty()) return;
  begun_ = Clock::now();
  caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    if (worker->resting_until > begun_) continue;
    invited_.push_back(worker.get());  // capacity was reserved in start()
    if (invited_.size() == count - 1) return;
  }
}

void Pool::dismiss(Worker& worker, std::chrono::nanoseconds item) {
  std::atomic<Ticket>& ticket = worker.ticket;
  Ticket state = Ticket::Invited;
  if (ticket.compare_exchange_strong(state, Ticket::Idle, std::memory_order_acquire)) {
    const Clock::time_point now = Clock::now();
    if (now - begun_ > kLate) worker.move_off_this_core(now);
    return;
  }
  const auto done = [&] { return ticket.load(std::memory_order_acquire) == Ticket::Idle; };
  if (done()) return;
  const Clock::time_point begin = Clock::now();
  if (!spin_until(done)) {
    state = Ticket::Claimed;
    if (ticket.compare_exchange_strong(state, Ticket::Awaited, std::memory_order_acquire))
      ticket.wait(Ticket::Awaited, std::memory_order_acquire);
  }
  // An index takes a slow core a few times as long as the caller.
  const Clock::time_point end = Clock::now();
  if (end - begin > std::max<Clock::duration>(kStall, 4 * item)) worker.leave_alone(end, end - begin);
}

uint32_t Pool::Share::core_kind(uint32_t otherwise, uint32_t maximum) {
  if (core_kind_ == kUnknown) {
    core_kind_ = cpuinfo_get_current_uarch_index_with_default(otherwise);
    if (core_kind_ > maximum) core_kind_ = otherwise;
  }
  return core_kind_;
}

}  // namespace ferry
