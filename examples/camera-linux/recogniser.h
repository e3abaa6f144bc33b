// SPDX-License-Identifier: Apache-2.0
// Runs a blob of any task on each frame.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "pixels.h"
#include "shot.h"

namespace camera {

// Inputs of tasks besides the image.
struct Prompts {
  int top = 0;                       // number of classes; 0: the blob's default
  std::optional<ferry_point> point;  // on the object; by default the middle of the image
  std::string mask;                  // an image file: the area to inpaint
};

class Recogniser {
 public:
  static ferry::Result<std::unique_ptr<Recogniser>> open(const std::string& blob, const ferry::SessionOptions& options,
                                                         const Prompts& prompts);

  // Decodes the frame if necessary, and runs the network. The functions below refer to this frame until the next call.
  ferry::Status see(const Shot& shot);
  const ferry::Answer& answer() const { return answer_; }
  int width() const { return width_; }  // of the upright image
  int height() const { return height_; }
  // The image with the answer drawn on it.
  ferry::Result<Pixels> image() const;

  // Makes see() fail with FERRY_CANCELLED. Called by any thread.
  void cancel() { task_.cancel(); }

  std::string name() const;  // "mobilenet_v2: classification"
  std::string note() const;  // why it does not run on the requested backend; or ""

 private:
  Recogniser(ferry::Model model, ferry::Task task, const Prompts& prompts);
  ferry::Status unpack(const Shot& shot);
  // These tasks accept no frames: ferry/task.h.
  bool needs_pixels() const { return info_.answer == FERRY_ANSWER_IMAGE || info_.answer == FERRY_ANSWER_LINES; }

  ferry::Model model_;
  ferry::Task task_;
  ferry_task_info info_;
  Prompts prompts_;
  ferry::Image mask_;

  ferry::Frame frame_;   // the current frame, unless it is a file
  Pixels unpacked_;      // the decoded image of `frame_`, if it was a JPEG
  Pixels upright_;       // its upright image, for tasks that need more than a frame
  ferry::Image loaded_;  // from a file
  int width_ = 0, height_ = 0;
  ferry::Answer answer_;
};

// The fields of `ferry run --json`.
void describe(const ferry::Answer& answer, nlohmann::ordered_json* json);

}  // namespace camera
