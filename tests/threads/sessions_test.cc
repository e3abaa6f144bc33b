// Sessions and threads: identical bits for any number of threads, concurrent sessions, the caller's pool, cancellation,
// and interference by the system.
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/runtime/networks.h"
#include "tests/threads/workers.h"

namespace ferry::testing {
namespace {

// All outputs and taps after one run on new noise.
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
  graphs.push_back(small_products());
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
      // Created, run and closed while the other thread does the same: both share the packed weights.
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
  std::atomic<int> calls{0};  // outside of the threads, whose waiting ThreadSanitizer does not see
  pthreadpool_t pool = pthreadpool_create(3);
  ferry_session_options options = default_options();
  options.threadpool = pool;
  for (int round = 0; round < 2; ++round) {
    SessionPtr session = make_session(opened.model, options);
    EXPECT_EQ(run_once(opened.model, session.get()), expected);
  }
  pthreadpool_parallelize_1d(
      pool, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls, 10, 0);
  EXPECT_EQ(calls, 10) << "the pool still works after the sessions are closed";
  pthreadpool_destroy(pool);
}

TEST(Threads, AppsShareOnePoolAmongThreads) {
  const auto graph = residual_network(3, 24, 16);
  Opened opened(*graph);
  const auto expected = run_once(opened.model, make_session(opened.model, 1).get());
  pthreadpool_t pool = pthreadpool_create(3);
  ferry_session_options options = default_options();
  options.threadpool = pool;
  std::atomic<int> wrong{0};
  const auto work = [&] {
    SessionPtr session = make_session(opened.model, options);
    for (int run = 0; run < 3; ++run)
      if (run_once(opened.model, session.get()) != expected) ++wrong;
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(wrong, 0);
  pthreadpool_destroy(pool);
}

TEST(Threads, FailedStartsAreNotedInTheReport) {
  const auto graph = residual_network(3, 24, 16);
  Opened opened(*graph);
  const auto expected = run_once(opened.model, make_session(opened.model, 1).get());
  for (const int allowed : {0, 2}) {
    SessionPtr session;
    {
      const NoMoreThreads refused(allowed);
      session = make_session(opened.model, 4);
    }
    EXPECT_EQ(run_once(opened.model, session.get()), expected);
    ferry_report report;
    report.struct_size = sizeof(report);
    ASSERT_OK(ferry_session_report(session.get(), &report));
    ASSERT_EQ(report.note_count, 1u);
    const std::string note = std::to_string(1 + allowed) + " of 4 threads run: the system starts no more (";
    EXPECT_EQ(std::string(ferry_session_report_note(session.get(), 0)).substr(0, note.size()), note);
    EXPECT_EQ(ferry_session_report_note(session.get(), 1), nullptr);
  }
}

// Stops a worker now and then and leaves the process one core: results stay right, and nothing hangs.
TEST(Threads, StoppedAndMovedOnesChangeNoResult) {
  const auto graph = residual_network(6, 24, 16);
  Opened opened(*graph);
  const auto expected = run_once(opened.model, make_session(opened.model, 1).get());
  const std::set<pid_t> before = threads_of_process();
  SessionPtr session = make_session(opened.model, 3);
  std::vector<pid_t> workers;
  for (const pid_t thread : threads_of_process())
    if (before.count(thread) == 0) workers.push_back(thread);
  ASSERT_EQ(workers.size(), 2u);
  std::atomic<bool> done{false};
  std::thread tormentor([&] {
    for (size_t i = 0; i < 12; ++i) {
      const Held held(workers[i % 2]);
      if (i % 4 == 3) const OneCore core;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    done = true;
  });
  int wrong = 0, runs = 0;
  for (; !done || runs < 20; ++runs) wrong += run_once(opened.model, session.get()) != expected;
  tormentor.join();
  EXPECT_EQ(wrong, 0) << "of " << runs;
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

  // One thread runs repeatedly, the other cancels repeatedly, until a run stops before its last operator.
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

// Blobs of a few hundred bytes whose only operator runs for minutes.
std::vector<std::unique_ptr<Graph>> absurd_networks() {
  std::vector<std::unique_ptr<Graph>> graphs;
  const auto add = [&](const char* name, const auto& params, const std::vector<Shape>& shapes) {
    auto graph = std::make_unique<Graph>();
    graph->table.name = name;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back(graph->add_input("x" + std::to_string(i), shapes[i], fbs::Layout::Same));
    graph->add_output("y", graph->add_op("y", params, inputs), fbs::Layout::Same);
    graphs.push_back(std::move(graph));
  };
  const Shape tokens{1, 60000, 256};
  add("attention", fbs::AttentionT(), {tokens, tokens, tokens});
  fbs::Pool2dT pool;
  pool.kernel_h = pool.kernel_w = 3001;
  pool.pad_top = pool.pad_left = pool.pad_bottom = pool.pad_right = 1500;
  add("pool2d", pool, {{1, 3000, 3000, 4}});
  fbs::NonMaxSuppressionT suppression;
  suppression.max_boxes = 1000000;
  suppression.iou_threshold = 2;  // suppresses nothing
  add("non_max_suppression", suppression, {{1, 1000000, 4}, {1, 1, 1000000}});
  return graphs;
}

TEST(Cancel, StopsWithinAnOperator) {
  for (const auto& graph : absurd_networks()) {
    Opened opened(*graph);
    for (const int threads : {1, 2}) {
      SessionPtr session = make_session(opened.model, threads);
      std::atomic<ferry_status> status{FERRY_OK};
      std::atomic<bool> begun{false};
      std::thread runner([&] {
        begun = true;
        begun.notify_one();
        status = ferry_session_run(session.get());
      });
      begun.wait(false);  // a busy machine starts the thread late, and a cancel before the run does nothing
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto begin = std::chrono::steady_clock::now();
      ferry_session_cancel(session.get());
      runner.join();
      EXPECT_EQ(status, FERRY_CANCELLED) << graph->table.name;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "of minutes";
    }
  }
}

}  // namespace
}  // namespace ferry::testing
