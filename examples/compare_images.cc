// SPDX-License-Identifier: Apache-2.0
// Compares two images, or puts them side by side.
//
//     compare_images RESULT EXPECTED --max-difference 1     exit code 1 if any pixel differs by more
//     compare_images BEFORE AFTER --side-by-side OUT.png    BEFORE is upscaled to AFTER's height by repeating pixels

#include <ferry/image.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

const uint8_t* pixel(const ferry_image& image, int x, int y) {
  return image.pixels + static_cast<size_t>(y) * static_cast<size_t>(image.stride) + static_cast<size_t>(x) * 3;
}

int compare(const ferry_image& a, const ferry_image& b, int allowed) {
  if (a.width != b.width || a.height != b.height) {
    std::fprintf(stderr, "the images differ in size: %dx%d and %dx%d\n", a.width, a.height, b.width, b.height);
    return 1;
  }
  int largest = 0;
  long different = 0, beyond = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) {
      int difference = 0;
      for (int c = 0; c < 3; ++c) difference = std::max(difference, std::abs(pixel(a, x, y)[c] - pixel(b, x, y)[c]));
      largest = std::max(largest, difference);
      different += difference > 0;
      beyond += difference > allowed;
    }
  }
  const long count = static_cast<long>(a.width) * a.height;
  std::printf("%dx%d pixels: largest difference %d of 255; %ld of %ld pixels differ, %ld by more than %d\n", a.width,
              a.height, largest, different, count, beyond, allowed);
  return beyond == 0 ? 0 : 1;
}

int side_by_side(const ferry_image& before, const ferry_image& after, const char* path) {
  constexpr int kGap = 8;
  const int scale = std::max(1, after.height / before.height);
  const int left = before.width * scale;
  const int height = std::max(after.height, before.height * scale);
  std::vector<uint8_t> pixels(static_cast<size_t>(left + kGap + after.width) * static_cast<size_t>(height) * 3, 255);
  ferry_image out = {};
  out.pixels = pixels.data();
  out.width = left + kGap + after.width;
  out.height = height;
  out.stride = out.width * 3;
  for (int y = 0; y < height; ++y) {
    uint8_t* row = out.pixels + static_cast<size_t>(y) * static_cast<size_t>(out.stride);
    for (int x = 0; x < left && y < before.height * scale; ++x) {
      std::memcpy(row + static_cast<size_t>(x) * 3, pixel(before, x / scale, y / scale), 3);
    }
    if (y < after.height) {
      std::memcpy(row + static_cast<size_t>(left + kGap) * 3, pixel(after, 0, y), static_cast<size_t>(after.width) * 3);
    }
  }
  if (ferry_image_save_png(&out, path) != FERRY_OK) {
    std::fprintf(stderr, "%s\n", ferry_last_error());
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ferry_image a = {}, b = {};
  if (argc != 5) {
    std::fprintf(stderr, "usage: compare_images A B --max-difference N | --side-by-side OUT.png\n");
    return 2;
  }
  if (ferry_image_load(argv[1], &a) != FERRY_OK || ferry_image_load(argv[2], &b) != FERRY_OK) {
    std::fprintf(stderr, "%s\n", ferry_last_error());
    ferry_image_free(&a);
    return 2;
  }
  int code = 2;
  if (std::strcmp(argv[3], "--max-difference") == 0) {
    code = compare(a, b, std::atoi(argv[4]));
  } else if (std::strcmp(argv[3], "--side-by-side") == 0) {
    code = side_by_side(a, b, argv[4]);
  } else {
    std::fprintf(stderr, "unknown option %s\n", argv[3]);
  }
  ferry_image_free(&a);
  ferry_image_free(&b);
  return code;
}
