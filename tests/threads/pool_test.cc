// The thread pool alone: how it distributes work, also if threads cannot start, are stopped or moved.
#include "sdk/threads/pool.h"

#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "sdk/threads/loops.h"
#include "sdk/threads/xnnpack.h"
#include "tests/threads/workers.h"

namespace ferry::testing {
namespace {

// How often each index of a loop was run.
std::vector<int> counts(Pool* pool, size_t count) {
  std::vector<std::atomic<int>> seen(count);
  parallel(pool, Grid<1, 0>{{count}}, [&](Pool::Share& share, size_t i) {
    EXPECT_LT(share.thread(), pool == nullptr ? 1 : pool->threads());
    ++seen[i];
  });
  return {seen.begin(), seen.end()};
}

TEST(Pool, HandsOutEachIndexOnce) {
  for (size_t threads : {1, 2, 3, 5}) {
    const auto pool = Pool::create(threads, nullptr);
    EXPECT_EQ(pool->threads(), threads);
    EXPECT_EQ(pool->missing(), 0u);
    for (size_t count : {0, 1, 2, 3, 7, 100, 10000})
      for (int round = 0; round < 20; ++round)
        ASSERT_EQ(counts(pool.get(), count), std::vector<int>(count, 1)) << threads << " threads";
  }
  EXPECT_EQ(counts(nullptr, 5), std::vector<int>(5, 1));
}

// Compares positions and sizes of tiles with nested loops.
TEST(Pool, WalksGridsLikeNestedLoops) {
  using Places = std::vector<std::array<size_t, 8>>;
  const auto pool = Pool::create(3, nullptr);
  for (Pool* at : {pool.get(), static_cast<Pool*>(nullptr)}) {
    Places expected;
    const size_t tile_m = 3, tile_n = 4;
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j)
        for (size_t k = 0; k < 1; ++k)
          for (size_t l = 0; l < 4; ++l)
            for (size_t m = 0; m < 7; m += tile_m)
              for (size_t n = 0; n < 9; n += tile_n)
                expected.push_back({i, j, k, l, m, n, std::min(tile_m, 7 - m), std::min(tile_n, 9 - n)});
    std::vector<Places> found(3);
    parallel(at, Grid<6, 2>{{2, 3, 1, 4, 7, 9}, {tile_m, tile_n}},
             [&](Pool::Share& share, auto... place) { found[share.thread()].push_back({place...}); });
    Places all;
    for (const Places& part : found) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, expected);
  }
  size_t tiles = 0;
  parallel(nullptr, Grid<2, 1>{{3, SIZE_MAX}, {SIZE_MAX}},
           [&](Pool::Share&, size_t, size_t first, size_t size) { tiles += first == 0 && size == SIZE_MAX; });
  EXPECT_EQ(tiles, 3u);
}

// Two parts with the same thread number never run at the same time, even if a thread of a borrowed pool runs several
// parts.
TEST(Pool, ConcurrentPartsHaveDifferentThreadNumbers) {
  const auto own = Pool::create(4, nullptr);
  pthreadpool_t theirs = pthreadpool_create(4);
  auto lent = Pool::lend(theirs, nullptr);
  EXPECT_EQ(lent->threads(), 4u);
  for (Pool* pool : {own.get(), lent.get()}) {
    for (int round = 0; round < 10; ++round) {
      std::array<std::atomic<int>, 4> inside{};
      std::atomic<int> together{0}, done{0};
      parallel(pool, Grid<1, 0>{{200}}, [&](Pool::Share& share, size_t) {
        if (inside[share.thread()]++ != 0) ++together;
        for (int i = 0; i < 100; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        --inside[share.thread()];
        ++done;
      });
      ASSERT_EQ(together, 0);
      ASSERT_EQ(done, 200);
    }
  }
  lent.reset();
  pthreadpool_destroy(theirs);
}

TEST(Pool, HandsOutNothingAfterACancel) {
  for (size_t threads : {1, 3}) {
    std::atomic<Progress> progress{Progress::Running};
    const auto pool = Pool::create(threads, &progress);
    std::atomic<size_t> done{0};
    parallel(pool.get(), Grid<1, 0>{{1000000}}, [&](Pool::Share&, size_t) {
      if (++done == 100) progress = Progress::Cancelled;
    });
    EXPECT_TRUE(pool->cancelled());
    EXPECT_GE(done, 100u);
    EXPECT_LT(done, 1000u);
    progress = Progress::Running;
    EXPECT_EQ(counts(pool.get(), 1000), std::vector<int>(1000, 1)) << "the next run is whole";
  }
}

TEST(Pool, HasFewerThreadsIfTheSystemStartsNoMore) {
  for (const int allowed : {0, 1, 3}) {
    const NoMoreThreads refused(allowed);
    const auto pool = Pool::create(8, nullptr);
    EXPECT_EQ(pool->threads(), static_cast<size_t>(1 + allowed));
    EXPECT_EQ(pool->missing(), static_cast<size_t>(7 - allowed));
    EXPECT_EQ(pool->reason(), EAGAIN);
    EXPECT_EQ(counts(pool.get(), 1000), std::vector<int>(1000, 1));
  }
}

TEST(Pool, FlushesDenormalsOnEveryThreadAndNotAfterwards) {
  volatile float small = 1e-38f;
  const auto float16s_of = [&] { return small * 0.125f; };
  ASSERT_GT(float16s_of(), 0.0f);
  for (size_t threads : {1, 4}) {
    const auto pool = Pool::create(threads, nullptr);
    std::atomic<int> kept{0};
    for (int round = 0; round < 20; ++round)
      parallel(pool.get(), Grid<1, 0>{{1000}}, [&](Pool::Share&, size_t) { kept += float16s_of() != 0.0f; });
    EXPECT_EQ(kept, 0);
    EXPECT_GT(float16s_of(), 0.0f);
  }
}

#if defined(__aarch64__)
uint64_t flushes_float16s() {  // FPCR.FZ16, on CPUs with float16 arithmetic
  uint64_t control;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
  return control & 0x80000;
}

TEST(Pool, KeepsDenormalsOfFloat16WhateverTheCallerDoes) {
  __asm__ __volatile__("msr fpcr, %0" : : "r"(uint64_t{0x80000}));
  const uint64_t callers = flushes_float16s();
  std::atomic<int> flushed{0};
  for (size_t threads : {1, 4}) {
    const auto pool = Pool::create(threads, nullptr);
    parallel(pool.get(), Grid<1, 0>{{1000}}, [&](Pool::Share&, size_t) { flushed += flushes_float16s() != 0; });
  }
  EXPECT_EQ(flushed, 0);
  EXPECT_EQ(flushes_float16s(), callers);
  __asm__ __volatile__("msr fpcr, %0" : : "r"(uint64_t{0}));
}
#endif

// The workers of a pool that is made here.
struct Workers {
  explicit Workers(size_t threads) {
    const std::set<pid_t> before = threads_of_process();
    pool = Pool::create(threads, nullptr);
    for (const pid_t thread : threads_of_process())
      if (before.count(thread) == 0) ids.push_back(thread);
  }
  std::unique_ptr<Pool> pool;
  std::vector<pid_t> ids;
};

TEST(Pool, DoesNotWaitForAWorkerThatHasNotBegun) {
  Workers workers(3);
  ASSERT_EQ(workers.ids.size(), 2u);
  counts(workers.pool.get(), 100);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until they sleep
  {
    const Held first(workers.ids[0]), second(workers.ids[1]);
    if (!first.works() || !second.works()) GTEST_SKIP() << "threads cannot be held here";
    for (int round = 0; round < 20; ++round)
      ASSERT_EQ(counts(workers.pool.get(), 1000), std::vector<int>(1000, 1)) << "it would hang";
  }
  ASSERT_EQ(counts(workers.pool.get(), 1000), std::vector<int>(1000, 1));
}

TEST(Pool, WaitsForAWorkerThatHasBegun) {
  Workers workers(2);
  std::atomic<bool> begun{false}, go_on{false}, returned{false};
  std::thread helper([&] {
    while (!begun) std::this_thread::yield();
    {
      const Held held(workers.ids[0]);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      EXPECT_FALSE(returned);
      go_on = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(held.works() && returned);
    }
  });
  std::vector<int> seen(64, 0);
  parallel(workers.pool.get(), Grid<1, 0>{{seen.size()}}, [&](Pool::Share& share, size_t i) {
    if (share.thread() == 1) {
      begun = true;
      while (!go_on) std::this_thread::yield();
    } else {
      while (!begun) std::this_thread::yield();  // so that the worker has an item
    }
    ++seen[i];
  });
  returned = true;
  helper.join();
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

// A little core among big ones, or the caller on one: other threads take over its items.
TEST(Pool, OthersTakeOverItemsOfSlowThreads) {
  for (const size_t slow : {0, 1, 2}) {
    const auto pool = Pool::create(3, nullptr);
    std::array<std::atomic<int>, 3> done{};
    std::atomic<int> begun{0};
    const size_t count = 300;
    const auto begin = std::chrono::steady_clock::now();
    parallel(pool.get(), Grid<1, 0>{{count}}, [&](Pool::Share& share, size_t) {
      if (done[share.thread()]++ == 0) {
        for (++begun; begun < 3;) std::this_thread::yield();  // so that all take part
      }
      if (share.thread() == slow) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    EXPECT_EQ(done[0] + done[1] + done[2], static_cast<int>(count));
    EXPECT_LT(done[slow], 20) << "of a share of 100";
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << "of 5";
  }
}

TEST(Pool, WorksWithFewerCoresThanThreads) {
  const auto pool = Pool::create(4, nullptr);
  for (int round = 0; round < 10; ++round) {
    {
      const OneCore core;
      ASSERT_EQ(counts(pool.get(), 5000), std::vector<int>(5000, 1));
    }
    ASSERT_EQ(counts(pool.get(), 5000), std::vector<int>(5000, 1));
  }
}

TEST(Pool, OpensAndClosesAtAnyMoment) {
  for (int round = 0; round < 200; ++round) {
    const auto pool = Pool::create(3, nullptr);
    const size_t count = round % 2 == 0 ? 10 : 0;
    ASSERT_EQ(counts(pool.get(), count), std::vector<int>(count, 1));
  }
}

}  // namespace
}  // namespace ferry::testing
