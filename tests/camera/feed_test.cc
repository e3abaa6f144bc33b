// The queue between source and consumer: the newest frame wins.
#include "examples/camera-linux/feed.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace camera {
namespace {

// Produces a frame when a test asks.
class Taps final : public Source {
 public:
  explicit Taps(bool live) : live_(live) {}
  std::string name() const override { return "taps"; }
  bool live() const override { return live_; }
  ferry::Result<std::optional<Shot>> next(std::stop_token stop) override {
    asked_.release();
    while (!given_.try_acquire_for(std::chrono::milliseconds(10)))
      if (stop.stop_requested()) return std::optional<Shot>();
    if (broken) return failure(FERRY_IO_ERROR, "it broke");
    if (ended) return std::optional<Shot>();
    Shot shot;
    shot.number = number_++;
    shot.memory = std::shared_ptr<const void>(&out, [this](const void*) { --out; });
    ++out;
    return std::optional(std::move(shot));
  }

  // One more frame, or the end. A frame has been passed on when the source is asked for the next one.
  void give() {
    asked_.acquire();
    given_.release();
  }
  void settle() {
    asked_.acquire();
    asked_.release();
  }

  std::atomic<bool> ended = false, broken = false;
  std::atomic<int> out = 0;  // number of frames held

 private:
  bool live_;
  int64_t number_ = 0;
  std::counting_semaphore<> asked_{0}, given_{0};
};

class LiveFeed : public ::testing::Test {
 protected:
  int64_t take() {
    ferry::Result<std::optional<Shot>> shot = feed.take(stop.get_token());
    EXPECT_TRUE(shot) << shot.error();
    return *shot ? (*shot)->number : -1;
  }
  std::stop_source stop;
  Taps source{true};
  Feed feed{source};
};

TEST_F(LiveFeed, GivesTheNewestFrameAndDropsThoseBefore) {
  source.give();
  EXPECT_EQ(take(), 0);
  for (int i = 0; i < 5; ++i) source.give();  // while the first is processed
  source.settle();
  EXPECT_EQ(take(), 5);
  source.give();
  EXPECT_EQ(take(), 6);
}

TEST_F(LiveFeed, HoldsOneFrameHoweverManyCome) {
  for (int i = 0; i < 100; ++i) {
    source.give();
    source.settle();
    EXPECT_EQ(source.out, 1);
  }
  EXPECT_EQ(take(), 99);
  EXPECT_EQ(source.out, 0);
}

TEST_F(LiveFeed, GivesEachFrameOnce) {
  source.give();
  EXPECT_EQ(take(), 0);
  std::jthread later([this] { source.give(); });
  EXPECT_EQ(take(), 1);  // and not the first again
}

TEST_F(LiveFeed, GivesTheLastFrameBeforeTheEnd) {
  source.give();
  source.settle();
  source.ended = true;
  source.give();
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(take(), -1);
  EXPECT_EQ(take(), -1);
}

TEST_F(LiveFeed, PassesAFailureOn) {
  source.give();
  source.settle();
  source.broken = true;
  source.give();
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(feed.take(stop.get_token()).error(), "it broke");
}

TEST_F(LiveFeed, StopsWhileItWaits) {
  std::jthread later([this] { stop.request_stop(); });
  EXPECT_EQ(take(), -1);
}

TEST(PatientFeed, ReadsAFrameWhenItIsWanted) {
  Taps source{false};
  Feed feed{source};
  std::stop_source stop;
  std::jthread giver([&] {
    for (int i = 0; i < 3; ++i) source.give();
  });
  for (int64_t i = 0; i < 3; ++i) {
    ferry::Result<std::optional<Shot>> shot = feed.take(stop.get_token());
    ASSERT_TRUE(shot && *shot);
    EXPECT_EQ((*shot)->number, i);
    EXPECT_EQ(source.out, 1);
  }
}

}  // namespace
}  // namespace camera
