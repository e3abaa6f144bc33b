// SPDX-License-Identifier: Apache-2.0
// A frame on its way from a source to an answer, and the interface of sources.
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

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, the clock of V4L2's timestamps

struct Shot {
  int64_t number = 0;  // counted by the source from 0 on, including frames that it lost
  Clock::time_point captured;
  // A raw frame, if the memory has such a format; or a JPEG; or the name of an image file. Decoding happens only when
  // the frame is processed, so that dropped frames cost nothing.
  ferry::Frame frame;
  std::span<const uint8_t> jpeg;
  std::string file;
  std::shared_ptr<const void> memory;  // owns the memory of the planes or the JPEG
};

// Reports events such as a disconnected or reconnected camera.
using Report = std::function<void(const std::string&)>;

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;
  // A camera continues even if the consumer is slow; a file waits.
  virtual bool live() const = 0;
  // Waits for the next frame. Empty after the last one, or if `stop` was requested.
  virtual ferry::Result<std::optional<Shot>> next(std::stop_token stop) = 0;
};

// A failure with this message.
[[gnu::format(printf, 2, 3)]] ferry::Status failure(ferry_status code, const char* format, ...);
// The message, formatted like printf.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

// Sleeps. Returns false as soon as `stop` is requested.
bool wait_until(std::stop_token stop, Clock::time_point moment);

}  // namespace camera
