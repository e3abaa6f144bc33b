#include "tests/threads/workers.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>

namespace {

std::atomic<int> threads_allowed{INT_MAX};

}  // namespace

extern "C" {
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*), void* argument);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*), void* argument) {
  if (threads_allowed != INT_MAX && threads_allowed-- <= 0) return EAGAIN;
  return __real_pthread_create(thread, attributes, main, argument);
}
}

namespace ferry::testing {

NoMoreThreads::NoMoreThreads(int allowed) { threads_allowed = allowed; }
NoMoreThreads::~NoMoreThreads() { threads_allowed = INT_MAX; }

std::set<pid_t> threads_of_process() {
  std::set<pid_t> threads;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    if (const pid_t thread = std::atoi(entry->d_name); thread > 0) threads.insert(thread);
  }
  closedir(tasks);
  return threads;
}

std::string cpus_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cpus_allowed_list:")) return line.substr(line.find_last_of(" \t") + 1);
  return "";
}

Held::Held(pid_t thread) {
  int held[2], release[2];
  if (pipe(held) != 0 || pipe(release) != 0) return;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  tracer_ = fork();
  if (tracer_ == 0) {
    close(release[1]);
    char answer = 'n';
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 &&
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 && waitpid(thread, nullptr, __WALL) == thread) {
      answer = 'y';
    }
    (void)!write(held[1], &answer, 1);
    (void)!read(release[0], &answer, 1);  // ends when the other side closes
    ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    _exit(0);
  }
  close(release[0]);
  close(held[1]);
  release_ = release[1];
  char answer = 'n';
  works_ = read(held[0], &answer, 1) == 1 && answer == 'y';
  close(held[0]);
}

Held::~Held() {
  if (release_ >= 0) close(release_);
  if (tracer_ > 0) waitpid(tracer_, nullptr, 0);
}

OneCore::OneCore() {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof(all), &all);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  for (const pid_t thread : threads_of_process()) sched_setaffinity(thread, sizeof(one), &one);
}

OneCore::~OneCore() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  for (const pid_t thread : threads_of_process()) sched_setaffinity(thread, sizeof(all), &all);
}

}  // namespace ferry::testing
