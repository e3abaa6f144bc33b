// Simulates what a system does to an app's threads: prevents their start, stops them, moves them.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace ferry::testing {

// While it lives, pthread_create() called by the library fails after `allowed` more threads (--wrap).
class NoMoreThreads {
 public:
  explicit NoMoreThreads(int allowed);
  ~NoMoreThreads();
  NoMoreThreads(const NoMoreThreads&) = delete;
};

// The system's ids of this process's threads.
std::set<pid_t> threads_of_process();

// The CPUs that a thread may run on, in the kernel's notation: "0-1".
std::string cpus_of(pid_t thread);

// Stops a single thread, as SIGSTOP stops a process. This needs a tracer, which runs in another process.
class Held {
 public:
  explicit Held(pid_t thread);
  ~Held();
  Held(const Held&) = delete;
  // False if tracing is not allowed or, in an emulator, not supported.
  bool works() const { return works_; }

 private:
  bool works_ = false;
  pid_t tracer_ = -1;
  int release_ = -1;
};

// Leaves one allowed core to every thread of the process, until destroyed.
class OneCore {
 public:
  OneCore();
  ~OneCore();
  OneCore(const OneCore&) = delete;
};

}  // namespace ferry::testing
