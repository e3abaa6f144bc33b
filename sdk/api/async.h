// Asynchronous runs of a session, on a thread of its own that starts at first use.
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
  // Waits for the current run and its callback.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  // Begins a run of `session`. FERRY_OUT_OF_MEMORY: its thread cannot be started.
  Status start(ferry_session* session, ferry_run_callback callback, void* user);
  // Waits until no run is in progress, including submitted ones (gpu/interop.h). Callbacks may still be running.
  void wait_for_run(Session& session);
  // Waits for runs and callbacks. Returns the status of the last asynchronous run. FERRY_INVALID_ARGUMENT inside a
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
  ferry_session* session_ = nullptr;  // the session to run next
  ferry_run_callback callback_ = nullptr;
  void* user_ = nullptr;
  Status last_;
};

}  // namespace ferry
