// SPDX-License-Identifier: Apache-2.0
// A blob and what it answers of each frame, whatever its task.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "pixels.h"
#include "shot.h"

namespace camera {

// What tasks take beside the image.
struct Prompts {
  int top = 0;                       // of classes; 0: as many as the blob says
  std::optional<ferry_point> point;  // of what is meant; without one the middle of the image
  std::string mask;                  // an image's file: what is to be painted anew
};

class Recogniser {
 public:
  static ferry::Result<std::unique_ptr<Recogniser>> open(const std::string& blob, const ferry::SessionOptions& options,
                                                         const Prompts& prompts);

  // Unpacks the frame where it is packed, and runs the network. What follows is of this frame until the next call.
  ferry::Status see(const Shot& shot);
  const ferry::Answer& answer() const { return answer_; }
  int width() const { return width_; }  // of the upright image
  int height() const { return height_; }
  // The answer drawn on that.
  ferry::Result<Pixels> image() const;

  // Makes see() fail with FERRY_CANCELLED. Any thread.
  void cancel() { task_.cancel(); }

  std::string name() const;  // "mobilenet_v2: classification"
  std::string note() const;  // why it does not run where it was asked to; ""

 private:
  Recogniser(ferry::Model model, ferry::Task task, const Prompts& prompts);
  ferry::Status unpack(const Shot& shot);
  // These tasks take no frames: ferry/task.h.
  bool needs_pixels() const { return info_.answer == FERRY_ANSWER_IMAGE || info_.answer == FERRY_ANSWER_LINES; }

  ferry::Model model_;
  ferry::Task task_;
  ferry_task_info info_;
  Prompts prompts_;
  ferry::Image mask_;

  ferry::Frame frame_;   // of what is seen, where it is no file
  Pixels unpacked_;      // what `frame_` shows, where that was a JPEG
  Pixels upright_;       // its image, for tasks that need more than a frame
  ferry::Image loaded_;  // a file
  int width_ = 0, height_ = 0;
  ferry::Answer answer_;
};

// The fields of `ferry run --json`.
void describe(const ferry::Answer& answer, nlohmann::ordered_json* json);

}  // namespace camera
