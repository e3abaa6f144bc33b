// SPDX-License-Identifier: Apache-2.0
// Images for display: frames converted to RGB, with answers drawn on them, as JPEG.
#pragma once

#include <cstdint>
#include <ferry/ferry.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace camera {

// RGB, rows without gaps.
struct Pixels {
  Pixels() = default;
  Pixels(int wide, int high)
      : width(wide), height(high), bytes(size_t{3} * static_cast<size_t>(wide) * static_cast<size_t>(high)) {}

  uint8_t* at(int x, int y) {
    return &bytes[3 * (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x))];
  }
  const uint8_t* at(int x, int y) const { return const_cast<Pixels*>(this)->at(x, y); }
  // For the C API, which does not modify it.
  ferry_image image() const { return {const_cast<uint8_t*>(bytes.data()), width, height, 3 * width, false}; }

  int width = 0, height = 0;
  std::vector<uint8_t> bytes;
};

Pixels copy_of(const ferry_image& image);
// The frame's upright image (see ferry_frame_size()), converted without Ferry's own code for networks.
ferry::Result<Pixels> rgb_of(const ferry::Frame& frame);

// Draws the answer on its image: boxes and lines, class colours as an overlay, darkness outside of a mask, depth beside
// it. An answer that is an image replaces it.
ferry::Result<Pixels> draw(const ferry::Answer& answer, Pixels image);

// FERRY_IMAGE_DAMAGED: not a JPEG, or truncated. FERRY_IMAGE_TOO_LARGE: a side exceeds kMaxSide.
ferry::Result<Pixels> decode_jpeg(std::span<const uint8_t> jpeg);
ferry::Result<std::string> encode_jpeg(const Pixels& image);

}  // namespace camera
