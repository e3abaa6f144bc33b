// SPDX-License-Identifier: Apache-2.0
#include "formats.h"

#include <algorithm>
#include <iterator>

namespace camera {
namespace {

constexpr uint32_t fourcc(const char (&text)[5]) {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i) code |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return code;
}

// Linux identifies formats by four letters (linux/videodev2.h); some byte orders have several names.
constexpr Format kFormats[] = {
    {"nv12", fourcc("NV12"), FERRY_FRAME_NV12},
    {"nv21", fourcc("NV21"), FERRY_FRAME_NV21},
    {"yu12", fourcc("YU12"), FERRY_FRAME_YUV420},
    {"yv12", fourcc("YV12"), FERRY_FRAME_YUV420, true},
    {"yuyv", fourcc("YUYV"), FERRY_FRAME_YUY2},
    {"p010", fourcc("P010"), FERRY_FRAME_P010},
    {"rgb24", fourcc("RGB3"), FERRY_FRAME_RGB},
    {"bgra", fourcc("XR24"), FERRY_FRAME_BGRA},
    {"bgra", fourcc("AR24"), FERRY_FRAME_BGRA},
    {"bgra", fourcc("BGR4"), FERRY_FRAME_BGRA},
    {"rgba", fourcc("XB24"), FERRY_FRAME_RGBA},
    {"rgba", fourcc("AB24"), FERRY_FRAME_RGBA},
    {"grey", fourcc("GREY"), FERRY_FRAME_GRAY},
    {"mjpg", fourcc("MJPG"), FERRY_FRAME_RGB, false, true},
    {"mjpg", fourcc("JPEG"), FERRY_FRAME_RGB, false, true},
};

template <typename Predicate>
const Format* first(const Predicate& is_it) {
  const auto* at = std::find_if(std::begin(kFormats), std::end(kFormats), is_it);
  return at == std::end(kFormats) ? nullptr : at;
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(const std::string& name) {
  return first([&](const Format& format) { return name == format.name; });
}

const Format* find_format(uint32_t code) {
  return first([&](const Format& format) { return code == format.fourcc; });
}

std::string format_names(bool with_jpeg) {
  std::string names, last;
  for (const Format& format : kFormats) {
    if (last == format.name || (format.jpeg && !with_jpeg)) continue;
    last = format.name;
    names += (names.empty() ? "" : ", ") + last;
  }
  return names;
}

std::string fourcc_text(uint32_t code) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    const auto letter = static_cast<char>(code >> (8 * i));
    text += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text;
}

size_t lay_out(const Format& format, const uint8_t* data, size_t row_bytes, ferry::Frame* frame) {
  const auto width = static_cast<size_t>(frame->width), height = static_cast<size_t>(frame->height);
  const size_t half_width = (width + 1) / 2, half_height = (height + 1) / 2;
  frame->format = format.format;
  size_t used = 0;
  const auto add = [&](size_t plane, size_t row, size_t rows) {
    frame->set_plane(plane, data == nullptr ? nullptr : data + used, row * rows, static_cast<int32_t>(row));
    used += row * rows;
  };
  const auto rows_of = [&](size_t bytes) { return std::max(row_bytes, bytes); };
  switch (format.format) {
    case FERRY_FRAME_YUV420: {
      add(0, rows_of(width), height);
      const size_t chroma = std::max(row_bytes / 2, half_width);
      add(format.v_first ? 2 : 1, chroma, half_height);
      add(format.v_first ? 1 : 2, chroma, half_height);
      break;
    }
    case FERRY_FRAME_NV12:
    case FERRY_FRAME_NV21:
      add(0, rows_of(width), height);
      add(1, rows_of(2 * half_width), half_height);
      break;
    case FERRY_FRAME_P010:
      add(0, rows_of(2 * width), height);
      add(1, rows_of(4 * half_width), half_height);
      break;
    case FERRY_FRAME_YUY2: add(0, rows_of(4 * half_width), height); break;
    case FERRY_FRAME_RGBA:
    case FERRY_FRAME_BGRA: add(0, rows_of(4 * width), height); break;
    case FERRY_FRAME_RGB: add(0, rows_of(3 * width), height); break;
    case FERRY_FRAME_GRAY: add(0, rows_of(width), height); break;
  }
  return used;
}

}  // namespace camera
