#include "sdk/api/async.h"

#include <cstring>

#include "sdk/api/handles.h"

namespace ferry {

AsyncRuns::~AsyncRuns() {
  if (!started_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  pthread_join(thread_, nullptr);
}

Status AsyncRuns::start(ferry_session* session, ferry_run_callback callback, void* user) {
  wait_for_run(*session->session);
  const std::lock_guard lock(mutex_);
  if (!started_) {
    if (const int failure = pthread_create(&thread_, nullptr, enter, this); failure != 0)
      return error(FERRY_OUT_OF_MEMORY, "cannot start the session's thread: %s", std::strerror(failure));
    started_ = true;
  }
  session_ = session;
  callback_ = callback;
  user_ = user;
  running_ = true;
  session->session->begin();
  changed_.notify_all();
  return {};
}

void AsyncRuns::wait_for_run(Session& session) {
  std::unique_lock lock(mutex_);
  if (!on_thread()) changed_.wait(lock, [&] { return !running_; });
  if (session.submitted()) last_ = attempt([&] { return session.finish(); });
}

Status AsyncRuns::wait(Session& session) {
  if (on_thread()) return error(FERRY_INVALID_ARGUMENT, "a callback cannot wait for its own session");
  wait_for_run(session);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !running_ && !in_callback_; });
  return last_;
}

void* AsyncRuns::enter(void* self) {
  static_cast<AsyncRuns*>(self)->work();
  return nullptr;
}

void AsyncRuns::work() {
  std::unique_lock lock(mutex_);
  for (bool placed = false;; placed = true) {
    changed_.wait(lock, [&] { return running_ || stopping_; });
    if (!running_) return;
    if (!placed) session_->session->place_this_thread();
    ferry_session* const session = session_;
    const ferry_run_callback callback = callback_;
    void* const user = user_;
    lock.unlock();
    Status status = attempt([&] { return session->session->run(); });
    const ferry_status code = report(status);  // for ferry_last_error() in the callback
    lock.lock();
    last_ = std::move(status);
    running_ = false;
    in_callback_ = callback != nullptr;
    changed_.notify_all();
    if (callback == nullptr) continue;
    lock.unlock();
    callback(session, code, user);
    lock.lock();
    in_callback_ = false;
    changed_.notify_all();
  }
}

}  // namespace ferry
