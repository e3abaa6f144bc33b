// What a system does to an app's threads: refuses to start them, keeps them from running, moves them.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace ferry::testing {

// While it lives, pthread_create() called by the library fails after `allowed` more threads (a --wrap of this program).
class NoMoreThreads {
 public:
  explicit NoMoreThreads(int allowed);
  ~NoMoreThreads();
  NoMoreThreads(const NoMoreThreads&) = delete;
};

// Of this process, by the system's numbers.
std::set<pid_t> threads_of_process();

// Those that a thread may run on, as the system tells it: "0-1".
std::string cpus_of(pid_t thread);

// A thread that is held where it is, as by SIGSTOP, though only this one: by a tracer, which another process has to be.
class Held {
 public:
  explicit Held(pid_t thread);
  ~Held();
  Held(const Held&) = delete;
  // False where tracing is not allowed or, under an emulator, not there.
  bool works() const { return works_; }

 private:
  bool works_ = false;
  pid_t tracer_ = -1;
  int release_ = -1;
};

// Leaves every thread of the process but one core of those that it may run on, until the end.
class OneCore {
 public:
  OneCore();
  ~OneCore();
  OneCore(const OneCore&) = delete;
};

}  // namespace ferry::testing
