// SPDX-License-Identifier: Apache-2.0
// Memory layouts of frames, by V4L2's names.
#pragma once

#include <ferry/ferry.hpp>
#include <span>
#include <string>

namespace camera {

struct Format {
  const char* name;  // for --format
  uint32_t fourcc;   // V4L2's
  ferry_frame_format format;
  bool v_first = false;  // for YUV420: the plane of V is before that of U
  bool jpeg = false;     // every frame is a JPEG; `format` is unused
};

// Sorted by preference: the fastest to read first, JPEG last.
std::span<const Format> formats();
// NULL if there is no format of that name.
const Format* find_format(const std::string& name);
const Format* find_format(uint32_t fourcc);
// "nv12, nv21, ...", with or without JPEG.
std::string format_names(bool with_jpeg);
// "YUYV"
std::string fourcc_text(uint32_t fourcc);

// Sets the planes of `frame`, whose size is set, consecutively from `data`. `row_bytes`: the stride of the first plane;
// 0: no gaps. Returns the total size in bytes; `data` may be NULL to compute only that.
size_t lay_out(const Format& format, const uint8_t* data, size_t row_bytes, ferry::Frame* frame);

}  // namespace camera
