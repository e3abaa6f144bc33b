// SPDX-License-Identifier: Apache-2.0
// One stream of a V4L2 camera, from open to close: format, buffers that are mapped, frames that are lent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats.h"
#include "shot.h"
#include "sources.h"
#include "system.h"

namespace camera {

// A capture is shared by whoever reads it and by the frames that it has lent: the buffers stay mapped until all are
// gone.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  // Negotiates, maps buffers and starts. FERRY_UNSUPPORTED: that will never be a camera for us.
  static ferry::Result<std::shared_ptr<Capture>> open(System& system, const std::string& path, const Wanted& wanted);
  ~Capture();

  enum class Outcome { Frame, Nothing, Damaged, Broken };
  // Waits for a frame, `milliseconds` at most. `last`: the number of the last frame; this one's afterwards, which is
  // larger by what the driver says that it lost, too. A damaged frame is given back at once. Broken: the camera is
  // gone, or its driver gives up; `why`.
  Outcome take(int milliseconds, int64_t* last, Shot* shot, std::string* why);

  // "640x480 NV12, 30 frames a second"
  const std::string& description() const { return description_; }

 private:
  struct Buffer {
    uint8_t* data;
    size_t size;
  };

  Capture(System& system, std::string path, const Wanted& wanted) : system_(system), path_(path), wanted_(wanted) {}
  ferry::Status start();
  ferry::Status check_device();
  ferry::Status choose_format();
  ferry::Status map_buffers();
  double fastest(uint32_t fourcc, uint32_t width, uint32_t height);
  bool give_back(uint32_t index);
  ferry::Status refused(const char* what) const;

  System& system_;
  std::string path_;
  Wanted wanted_;
  int fd_ = -1;
  bool several_planes_ = false;  // the driver has V4L2's multi-planar API alone
  const Format* format_ = nullptr;
  ferry::Frame frame_;  // without planes
  size_t row_bytes_ = 0;
  std::vector<Buffer> buffers_;
  bool streaming_ = false;
  bool counted_ = false;  // last_sequence_ is known
  uint32_t last_sequence_ = 0;
  std::string description_;
};

}  // namespace camera
