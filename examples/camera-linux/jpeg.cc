// SPDX-License-Identifier: Apache-2.0
// JPEG with libjpeg-turbo, which also decodes camera frames without Huffman tables.
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>

#include "pixels.h"
#include "shot.h"
#include "sources.h"

namespace camera {
namespace {

constexpr int kQuality = 80;

using Handle = std::unique_ptr<void, int (*)(tjhandle)>;

ferry::Status refused(const Handle& handle) {
  return failure(FERRY_IMAGE_DAMAGED, "not a whole JPEG: %s", tjGetErrorStr2(handle.get()));
}

}  // namespace

ferry::Result<Pixels> decode_jpeg(std::span<const uint8_t> jpeg) {
  const Handle handle(tjInitDecompress(), tjDestroy);
  if (handle == nullptr) return failure(FERRY_OUT_OF_MEMORY, "no memory for a JPEG");
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), jpeg.data(), jpeg.size(), &width, &height, &sampling, &colours) != 0)
    return refused(handle);
  if (width > kMaxSide || height > kMaxSide)
    return failure(FERRY_IMAGE_TOO_LARGE, "a JPEG of %dx%d pixels: sides may be %d", width, height, kMaxSide);
  // The decoder fills missing data with grey and warns of it no more than of harmless bytes. So the end marker is
  // searched for; buffers may be padded after it.
  constexpr std::array<uint8_t, 2> kEnd = {0xff, 0xd9};
  if (std::find_end(jpeg.begin(), jpeg.end(), kEnd.begin(), kEnd.end()) == jpeg.end())
    return failure(FERRY_IMAGE_DAMAGED, "not a whole JPEG: its end is missing");
  Pixels pixels(width, height);
  if (tjDecompress2(handle.get(), jpeg.data(), jpeg.size(), pixels.bytes.data(), width, 3 * width, height, TJPF_RGB,
                    0) != 0 &&
      tjGetErrorCode(handle.get()) == TJERR_FATAL)
    return refused(handle);
  return pixels;
}

ferry::Result<std::string> encode_jpeg(const Pixels& image) {
  const Handle handle(tjInitCompress(), tjDestroy);
  if (handle == nullptr) return failure(FERRY_OUT_OF_MEMORY, "no memory for a JPEG");
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int result = tjCompress2(handle.get(), image.bytes.data(), image.width, 3 * image.width, image.height, TJPF_RGB,
                                 &bytes, &size, TJSAMP_420, kQuality, 0);
  std::string jpeg(reinterpret_cast<const char*>(bytes), result == 0 ? size : 0);
  tjFree(bytes);
  if (result != 0) return failure(FERRY_INVALID_ARGUMENT, "no JPEG can be made: %s", tjGetErrorStr2(handle.get()));
  return jpeg;
}

}  // namespace camera
