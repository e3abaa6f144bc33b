// Sessions on some of the machine's cores: where their threads run, what is reported, and what happens if cores are
// taken away.
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "sdk/threads/cores.h"
#include "tests/runtime/networks.h"
#include "tests/threads/workers.h"

namespace ferry::testing {
namespace {

using Mask = std::array<uint64_t, 16>;

Mask mask_of(const CpuSet& cpus) {
  Mask mask{};
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu) mask[cpu / 64] |= uint64_t{cpus[cpu]} << cpu % 64;
  return mask;
}

CpuSet first_of(const CpuSet& cpus) {
  CpuSet one;
  for (size_t cpu = 0; cpu < cpus.size() && one.none(); ++cpu) one[cpu] = cpus[cpu];
  return one;
}
CpuSet last_of(const CpuSet& cpus) {
  CpuSet one;
  for (size_t cpu = cpus.size(); cpu-- > 0 && one.none();) one[cpu] = cpus[cpu];
  return one;
}

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

ferry_report report_of(const SessionPtr& session) {
  ferry_report report{};
  report.struct_size = sizeof(report);
  EXPECT_OK(ferry_session_report(session.get(), &report));
  return report;
}

class Placement : public ::testing::Test {
 protected:
  void SetUp() override {
    std::thread([] {}).join();  // the first thread makes ThreadSanitizer start its own
    if (allowed_.count() < 2) GTEST_SKIP() << "one core";
  }

  // The session; its threads are in threads_.
  SessionPtr on(const CpuSet& cpus, int threads) {
    const Mask mask = mask_of(cpus);
    ferry_session_options options = default_options();
    options.num_threads = threads;
    options.cpu_mask = mask.data();
    options.cpu_mask_words = mask.size();
    const std::set<pid_t> before = threads_of_process();
    SessionPtr session = make_session(opened_.model, options);
    threads_.clear();
    for (const pid_t thread : threads_of_process())
      if (before.count(thread) == 0) threads_.push_back(thread);
    return session;
  }

  auto run(const SessionPtr& session) {
    fill_inputs(opened_.model, session.get(), 1);
    EXPECT_OK(ferry_session_run(session.get()));
    return results(opened_.model, session.get());
  }

  const CpuSet allowed_ = allowed_cpus();
  const std::unique_ptr<Graph> graph_ = residual_network(6, 24, 16);
  const Opened opened_{*graph_};
  std::vector<pid_t> threads_;
};

// The CPUs of a new thread after it has set its affinity.
std::string settled(pid_t thread, const std::string& expected) {
  for (int i = 0; i < 1000 && cpus_of(thread) != expected; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return cpus_of(thread);
}

TEST_F(Placement, ThreadsKeepToTheMaskAndTheCallerIsLeftAlone) {
  const auto expected = run(make_session(opened_.model, 1));
  const std::string callers = cpus_of(this_thread());
  for (const CpuSet& one : {first_of(allowed_), last_of(allowed_)}) {
    const SessionPtr session = on(one, 3);
    ASSERT_EQ(threads_.size(), 2u);
    for (const pid_t thread : threads_) EXPECT_EQ(settled(thread, cpu_list(one)), cpu_list(one));
    for (int i = 0; i < 20; ++i) ASSERT_EQ(run(session), expected);
    for (const pid_t thread : threads_) EXPECT_EQ(cpus_of(thread), cpu_list(one)) << "after runs";
    EXPECT_EQ(cpus_of(this_thread()), callers);
    EXPECT_EQ(report_of(session).cpus, cpu_list(one));
    EXPECT_EQ(report_of(session).threads, 3u);
  }
}

TEST_F(Placement, ThereIsOneThreadForEachChosenCpu) {
  const SessionPtr one = on(last_of(allowed_), 0);
  EXPECT_EQ(threads_.size(), 0u);
  EXPECT_EQ(report_of(one).threads, 1u);
  const SessionPtr two = on(first_of(allowed_) | last_of(allowed_), 0);
  EXPECT_EQ(threads_.size(), 1u);
  EXPECT_EQ(report_of(two).threads, 2u);
  ferry_session_options options = default_options();
  options.cores = FERRY_CORES_ALL;
  const SessionPtr all = make_session(opened_.model, options);
  EXPECT_EQ(report_of(all).threads, allowed_.count());
  EXPECT_EQ(report_of(all).cpus, cpu_list(allowed_));
}

// Like a process started by taskset.
TEST_F(Placement, CoresForbiddenToTheCallerAreIgnored) {
  const CpuSet one = first_of(allowed_), rest = allowed_ & ~one;
  std::thread([&] {
    ASSERT_TRUE(place_thread(0, one));
    EXPECT_EQ(report_of(on(allowed_, 0)).cpus, cpu_list(one));
    EXPECT_EQ(report_of(make_session(opened_.model, 0)).threads, 1u);
    const Mask mask = mask_of(rest);
    ferry_session_options options = default_options();
    options.cpu_mask = mask.data();
    options.cpu_mask_words = mask.size();
    ferry_session* session = nullptr;
    EXPECT_EQ(ferry_session_create(opened_.model, &options, &session), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(ferry_last_error()), "options.cpu_mask holds no CPU that may be used: it has '" +
                                                   cpu_list(rest) + "', there are " + cpu_list(one));
    EXPECT_EQ(session, nullptr);
  }).join();
}

TEST_F(Placement, ChoicesGiveTheSameBits) {
  const auto expected = run(make_session(opened_.model, 1));
  for (const ferry_cores cores :
       {FERRY_CORES_PERFORMANCE, FERRY_CORES_BALANCED, FERRY_CORES_EFFICIENT, FERRY_CORES_ALL}) {
    for (const int threads : {0, 3}) {
      ferry_session_options options = default_options();
      options.cores = cores;
      options.num_threads = threads;
      EXPECT_EQ(run(make_session(opened_.model, options)), expected) << cores << ", " << threads << " threads";
    }
  }
}

TEST_F(Placement, RunsBegunWithoutWaitingAreComputedThere) {
  const CpuSet one = last_of(allowed_);
  const SessionPtr session = on(one, 2);
  fill_inputs(opened_.model, session.get(), 1);
  std::promise<std::string> where;
  const auto tell = [](ferry_session*, ferry_status, void* user) {
    static_cast<std::promise<std::string>*>(user)->set_value(cpus_of(this_thread()));
  };
  ASSERT_OK(ferry_session_run_async(session.get(), tell, &where));
  EXPECT_EQ(where.get_future().get(), cpu_list(one));
  ASSERT_OK(ferry_session_wait(session.get()));
}

TEST_F(Placement, CallersPoolIsNotMoved) {
  const std::set<pid_t> before = threads_of_process();
  pthreadpool_t pool = pthreadpool_create(3);
  ferry_session_options options = default_options();
  const Mask mask = mask_of(first_of(allowed_));
  options.threadpool = pool;
  options.cpu_mask = mask.data();
  options.cpu_mask_words = mask.size();
  {
    const SessionPtr session = make_session(opened_.model, options);
    run(session);
    EXPECT_STREQ(report_of(session).cpus, "");
    EXPECT_EQ(report_of(session).threads, 3u);
    for (const pid_t thread : threads_of_process()) {
      if (before.count(thread) == 0) {
        EXPECT_EQ(cpus_of(thread), cpu_list(allowed_));
      }
    }
  }
  pthreadpool_destroy(pool);
}

// The kernel does this if a core goes offline or a cpuset shrinks: threads without an allowed core move to the
// remaining ones.
TEST_F(Placement, CoresTakenAwayInARunDoNotStallIt) {
  const auto expected = run(make_session(opened_.model, 1));
  const CpuSet chosen = last_of(allowed_), left = first_of(allowed_);
  const SessionPtr session = on(chosen, 3);
  ASSERT_EQ(threads_.size(), 2u);
  std::atomic<bool> done{false};
  std::thread system([&] {
    for (int i = 0; i < 60; ++i) {
      for (const pid_t thread : threads_) place_thread(thread, i % 2 == 0 ? left : chosen);
      if (i % 20 == 10) const OneCore core;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (const pid_t thread : threads_) place_thread(thread, left);
    done = true;
  });
  int wrong = 0, runs = 0;
  for (; !done || runs < 50; ++runs) wrong += run(session) != expected;
  system.join();
  EXPECT_EQ(wrong, 0) << "of " << runs;
}

}  // namespace
}  // namespace ferry::testing
