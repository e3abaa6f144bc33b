// SPDX-License-Identifier: Apache-2.0
#include "feed.h"

namespace camera {

Feed::Feed(Source& source) : source_(source) {
  if (source.live()) reader_ = std::jthread([this](std::stop_token stop) { read(stop); });
}

Feed::~Feed() = default;  // requests the thread's stop and joins it

void Feed::read(std::stop_token stop) {
  while (true) {
    ferry::Result<std::optional<Shot>> shot = source_.next(stop);
    std::optional<Shot> dropped;  // released to the camera after the lock
    const std::lock_guard lock(mutex_);
    if (!shot || !*shot) {
      ended_ = true;
      failure_ = shot.status();
    } else {
      dropped = std::exchange(newest_, std::move(*shot));
    }
    changed_.notify_one();
    if (ended_) return;
  }
}

ferry::Result<std::optional<Shot>> Feed::take(std::stop_token stop) {
  if (!source_.live()) return source_.next(stop);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return newest_ || ended_; });
  if (stop.stop_requested()) return std::optional<Shot>();
  if (newest_) return std::exchange(newest_, std::nullopt);
  if (!failure_) return failure_;
  return std::optional<Shot>();
}

}  // namespace camera
