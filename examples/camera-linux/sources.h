// SPDX-License-Identifier: Apache-2.0
// Where frames come from.
#pragma once

#include <memory>
#include <string>

#include "formats.h"
#include "shot.h"
#include "system.h"

namespace camera {

constexpr int kMaxSide = 16384;  // a frame's bytes can be counted in 32 bits

// What the user said of the frames; a camera is asked for it, a raw file is read by it.
struct Wanted {
  int width = 0, height = 0;       // 0: not said
  const Format* format = nullptr;  // NULL: not said
  double rate = 0;                 // frames a second; 0: not said
  int rotation = 0;                // as ferry_frame has it
  bool mirror = false;
  ferry_yuv_range range = FERRY_RANGE_LIMITED;  // of raw files; a camera tells its own
  ferry_yuv_matrix matrix = FERRY_MATRIX_BT601;
  bool loop = false;  // of files: begin again
};

using MaybeSource = ferry::Result<std::unique_ptr<Source>>;

// Frames one behind the other without anything between, as `ffmpeg -f rawvideo` writes them. Where a rate is wanted
// they come at that rate like a camera's, and what nobody takes is lost; otherwise each waits until it is taken.
MaybeSource open_raw_file(const std::string& path, const Wanted& wanted);
// The JPEG, PNG and BMP files of a folder, by name; likewise.
MaybeSource open_folder(const std::string& path, const Wanted& wanted);

// A V4L2 device. When it stalls or is unplugged that is reported, and it is opened again as soon as it can be.
MaybeSource open_camera(System& system, const std::string& path, const Wanted& wanted, Report report);

// Gives the frames of a file their times.
class Pace {
 public:
  explicit Pace(double rate) : rate_(rate) {}
  bool live() const { return rate_ > 0; }
  // Waits until it is time for frame `number`; false where `stop` was requested.
  bool wait(std::stop_token stop, int64_t number);

 private:
  double rate_;
  Clock::time_point begin_{};
};

}  // namespace camera
