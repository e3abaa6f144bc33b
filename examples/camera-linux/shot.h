// SPDX-License-Identifier: Apache-2.0
// A frame on its way from a source to an answer, and what gives frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <ferry/ferry.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace camera {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, by which V4L2 stamps its buffers

struct Shot {
  int64_t number = 0;  // counted by the source from 0 on; frames that the source itself lost leave gaps
  Clock::time_point captured;
  // What it is: a frame as it lies in memory, where that has a format; or a JPEG; or the name of an image's file. What
  // is packed is unpacked when it is answered, so that nothing is spent on frames which are dropped.
  ferry::Frame frame;
  std::span<const uint8_t> jpeg;
  std::string file;
  std::shared_ptr<const void> memory;  // what the planes and the JPEG lie in goes back with the last holder
};

// Sentences for whoever watches: a camera that is gone, one that is back.
using Report = std::function<void(const std::string&)>;

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;
  // A camera goes on whether anybody keeps up or not; a file waits.
  virtual bool live() const = 0;
  // Waits for the next frame. None: this was the last one, or `stop` was requested.
  virtual ferry::Result<std::optional<Shot>> next(std::stop_token stop) = 0;
};

// A failure with a sentence of our own.
[[gnu::format(printf, 2, 3)]] ferry::Status failure(ferry_status code, const char* format, ...);
// The same text, built by printf.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

// Sleeps. False as soon as `stop` is requested.
bool wait_until(std::stop_token stop, Clock::time_point moment);

}  // namespace camera
