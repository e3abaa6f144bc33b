// SPDX-License-Identifier: Apache-2.0
// Hands frames from a source to whoever answers them, the newest first and last.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "shot.h"

namespace camera {

// A live source is read by a thread of its own, into a queue with room for one frame: a newer one takes its place, so
// that who is slow drops frames and is never late by more than one. Other sources are read when they are asked.
class Feed {
 public:
  explicit Feed(Source& source);
  ~Feed();
  // Waits for a frame that was not taken yet. None: the end, or `stop` was requested. Used by one thread.
  ferry::Result<std::optional<Shot>> take(std::stop_token stop);

 private:
  void read(std::stop_token stop);

  Source& source_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Shot> newest_;
  bool ended_ = false;
  ferry::Status failure_;  // that ended it
  std::jthread reader_;
};

}  // namespace camera
