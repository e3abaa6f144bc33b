// SPDX-License-Identifier: Apache-2.0
// How frames lie in memory, by the names of V4L2.
#pragma once

#include <ferry/ferry.hpp>
#include <span>
#include <string>

namespace camera {

struct Format {
  const char* name;  // for --format
  uint32_t fourcc;   // V4L2's
  ferry_frame_format format;
  bool v_first = false;  // of YUV420: the plane of V comes before that of U
  bool jpeg = false;     // every frame is a JPEG; `format` says nothing
};

// Best first: what is read fastest, a JPEG last.
std::span<const Format> formats();
// NULL where there is none of that name.
const Format* find_format(const std::string& name);
const Format* find_format(uint32_t fourcc);
// "nv12, nv21, ...", of frames that are no JPEGs or of all.
std::string format_names(bool with_jpeg);
// "YUYV"
std::string fourcc_text(uint32_t fourcc);

// The planes of `frame`, which has its size, one behind the other from `data` on. `row_bytes` from one row of the first
// plane to the next; 0: no gaps. Returns how many bytes they are; NULL may be given to ask that alone.
size_t lay_out(const Format& format, const uint8_t* data, size_t row_bytes, ferry::Frame* frame);

}  // namespace camera
