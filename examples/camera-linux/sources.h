// SPDX-License-Identifier: Apache-2.0
// The sources of frames.
#pragma once

#include <memory>
#include <string>

#include "formats.h"
#include "shot.h"
#include "system.h"

namespace camera {

constexpr int kMaxSide = 16384;  // the size of a frame fits 32 bits

// The frame properties given by the user: requested of a camera, and required to read a raw file.
struct Wanted {
  int width = 0, height = 0;       // 0: unspecified
  const Format* format = nullptr;  // NULL: unspecified
  double rate = 0;                 // frames a second; 0: unspecified
  int rotation = 0;                // see ferry_frame
  bool mirror = false;
  ferry_yuv_range range = FERRY_RANGE_LIMITED;  // of raw files; a camera reports its own
  ferry_yuv_matrix matrix = FERRY_MATRIX_BT601;
  bool loop = false;  // for files: start over at the end
};

using MaybeSource = ferry::Result<std::unique_ptr<Source>>;

// Consecutive raw frames, as `ffmpeg -f rawvideo` writes them. With a rate they arrive at that rate like a camera's,
// and frames that are not fetched in time are lost; otherwise each waits.
MaybeSource open_raw_file(const std::string& path, const Wanted& wanted);
// The JPEG, PNG and BMP files of a folder, by name, with the same timing.
MaybeSource open_folder(const std::string& path, const Wanted& wanted);

// A V4L2 device. If it stalls or is unplugged, this is reported, and it is reopened as soon as possible.
MaybeSource open_camera(System& system, const std::string& path, const Wanted& wanted, Report report);

// Times the frames of a file.
class Pace {
 public:
  explicit Pace(double rate) : rate_(rate) {}
  bool live() const { return rate_ > 0; }
  // Waits for the time of frame `number`; false if `stop` was requested.
  bool wait(std::stop_token stop, int64_t number);

 private:
  double rate_;
  Clock::time_point begin_{};
};

}  // namespace camera
