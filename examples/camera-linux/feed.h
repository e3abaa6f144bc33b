// SPDX-License-Identifier: Apache-2.0
// Passes frames from a source to the consumer, always the newest.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "shot.h"

namespace camera {

// A thread reads a live source into a queue of one frame, which a newer frame replaces: a slow consumer drops frames
// and is never late by more than one. Other sources are read on demand.
class Feed {
 public:
  explicit Feed(Source& source);
  ~Feed();
  // Waits for a new frame. Empty at the end, or if `stop` was requested. Called by one thread.
  ferry::Result<std::optional<Shot>> take(std::stop_token stop);

 private:
  void read(std::stop_token stop);

  Source& source_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Shot> newest_;
  bool ended_ = false;
  ferry::Status failure_;  // that ended the source
  std::jthread reader_;
};

}  // namespace camera
