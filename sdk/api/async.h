// Runs of a session that nobody waits for: on a thread of the session's own, started at its first use.
#pragma once

#include <ferry/ferry.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "sdk/graph/session.h"
#include "sdk/status.h"

namespace ferry {

class AsyncRuns {
 public:
  AsyncRuns() = default;
  // Waits for the run under way and its callback.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  // Begins a run of `session`. FERRY_OUT_OF_MEMORY: its thread cannot be started.
  Status start(ferry_session* session, ferry_run_callback callback, void* user);
  // Waits until no run is under way, submitted ones (gpu/interop.h) included; callbacks may still be at work.
  void settle(Session& session);
  // The same and for callbacks too; how the last run ended that nobody waited for. FERRY_INVALID_ARGUMENT inside a
  // callback.
  Status wait(Session& session);

 private:
  static void* enter(void* self);
  void work();
  bool on_thread() const { return started_ && pthread_equal(pthread_self(), thread_) != 0; }

  std::mutex mutex_;
  std::condition_variable changed_;
  pthread_t thread_{};
  bool started_ = false, stopping_ = false;
  bool running_ = false, in_callback_ = false;
  ferry_session* session_ = nullptr;  // whom to run next
  ferry_run_callback callback_ = nullptr;
  void* user_ = nullptr;
  Status last_;
};

}  // namespace ferry
