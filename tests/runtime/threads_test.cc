// Threads: the same bits for any number of them, sessions side by side, a caller's pool, cancellation.
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <atomic>
#include <thread>

#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

// Every output and tap after one run on fresh noise.
auto run_once(ferry_model* model, ferry_session* session, uint32_t seed = 1) {
  fill_inputs(model, session, seed);
  EXPECT_OK(ferry_session_run(session));
  return results(model, session);
}

TEST(Threads, ResultsDoNotDependOnTheirNumber) {
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(small_classifier());
  graphs.push_back(small_upscaler());
  graphs.push_back(small_mixture());
  graphs.push_back(small_decoder());
  graphs.push_back(residual_network(3, 40, 24));
  for (const auto& graph : graphs) {
    Opened opened(*graph);
    ferry_session_options options = default_options();
    options.all_taps = true;
    options.num_threads = 1;
    SessionPtr single = make_session(opened.model, options);
    const auto expected = run_once(opened.model, single.get());
    EXPECT_EQ(run_once(opened.model, single.get()), expected) << "a second run, " << graph->table.name;
    for (int threads : {2, 3, 4, 0}) {
      options.num_threads = threads;
      SessionPtr session = make_session(opened.model, options);
      EXPECT_EQ(run_once(opened.model, session.get()), expected) << threads << " threads, " << graph->table.name;
    }
  }
}

TEST(Threads, ResizedSessionsAgreeTooForAnyNumber) {
  const auto graph = small_upscaler();
  Opened opened(*graph);
  const int32_t shape[] = {2, 61, 45, 3};
  SessionPtr single = make_session(opened.model, 1);
  ASSERT_OK(ferry_session_resize(single.get(), 0, shape, 4));
  const auto expected = run_once(opened.model, single.get());
  for (int threads : {2, 3, 4}) {
    SessionPtr session = make_session(opened.model, threads);
    ASSERT_OK(ferry_session_resize(session.get(), 0, shape, 4));
    EXPECT_EQ(run_once(opened.model, session.get()), expected) << threads << " threads";
  }
}

TEST(Threads, SessionsOfOneModelRunAtOnce) {
  const auto graph = residual_network(4, 24, 16);
  Opened opened(*graph);
  std::map<std::string, std::vector<float>> expected[2];
  for (uint32_t i = 0; i < 2; ++i) {
    expected[i] = run_once(opened.model, make_session(opened.model, 1).get(), 10 + i);
  }
  std::atomic<int> wrong{0};
  const auto work = [&](uint32_t i) {
    for (int round = 0; round < 5; ++round) {
      // Made, run and closed while the other thread does the same: the packed weights are shared.
      SessionPtr session = make_session(opened.model, 2);
      for (int run = 0; run < 3; ++run) {
        if (run_once(opened.model, session.get(), 10 + i) != expected[i]) ++wrong;
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CallersPoolIsUsedAndLeftAlone) {
  const auto graph = residual_network(3, 24, 16);
  Opened opened(*graph);
  const auto expected = run_once(opened.model, make_session(opened.model, 1).get());
  pthreadpool_t pool = pthreadpool_create(3);
  ferry_session_options options = default_options();
  options.threadpool = pool;
  for (int round = 0; round < 2; ++round) {
    SessionPtr session = make_session(opened.model, options);
    EXPECT_EQ(run_once(opened.model, session.get()), expected);
  }
  std::atomic<int> calls{0};
  pthreadpool_parallelize_1d(
      pool, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls, 10, 0);
  EXPECT_EQ(calls, 10) << "the pool still works after the sessions are closed";
  pthreadpool_destroy(pool);
}

TEST(Cancel, WithoutARunDoesNothing) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  SessionPtr session = make_session(opened.model, 1);
  ferry_session_cancel(session.get());
  ferry_session_cancel(session.get());
  EXPECT_OK(ferry_session_run(session.get()));
  ferry_session_cancel(session.get());
  EXPECT_OK(ferry_session_run(session.get()));
  ferry_session_cancel(nullptr);
}

TEST(Cancel, StopsTheRunInProgressAndTheNextOneIsWhole) {
  const auto graph = residual_network(150, 16, 16);
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.profile = true;
  SessionPtr session = make_session(opened.model, options);
  const auto expected = run_once(opened.model, session.get());

  // One thread runs again and again, the other cancels again and again, until a run ended before its last operator.
  std::atomic<bool> stopped_early{false};
  std::atomic<bool> failed{false};
  std::thread runner([&] {
    while (!stopped_early && !failed) {
      const ferry_status status = ferry_session_run(session.get());
      ferry_profile_entry last;
      const size_t count = ferry_session_profile_count(session.get());
      if (ferry_session_profile(session.get(), count - 1, &last) != FERRY_OK) failed = true;
      if (status == FERRY_CANCELLED && last.microseconds == 0) {
        EXPECT_STREQ(ferry_last_error(), "run cancelled");
        stopped_early = true;
      } else if (status != FERRY_OK && status != FERRY_CANCELLED) {
        failed = true;
      }
    }
  });
  while (!stopped_early && !failed) ferry_session_cancel(session.get());
  runner.join();
  EXPECT_FALSE(failed);
  EXPECT_EQ(run_once(opened.model, session.get()), expected);
}

}  // namespace
}  // namespace ferry::testing
