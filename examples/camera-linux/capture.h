// SPDX-License-Identifier: Apache-2.0
// One stream of a V4L2 camera, from open to close: format, mapped buffers, borrowed frames.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats.h"
#include "shot.h"
#include "sources.h"
#include "system.h"

namespace camera {

// The reader and all borrowed frames share a capture: buffers stay mapped until all are released.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  // Negotiates the format, maps buffers and starts. FERRY_UNSUPPORTED: the device can never be used.
  static ferry::Result<std::shared_ptr<Capture>> open(System& system, const std::string& path, const Wanted& wanted);
  ~Capture();

  enum class Outcome { Frame, Nothing, Damaged, Broken };
  // Waits for a frame, at most `milliseconds`. `last` is the number of the previous frame, and becomes this one's; the
  // difference includes frames that the driver reports as lost. A damaged frame is returned to the driver at once.
  // Broken: the camera is gone or its driver failed; see `why`.
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
  bool several_planes_ = false;  // the driver supports only V4L2's multi-planar API
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
