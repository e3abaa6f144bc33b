#include "sdk/image/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "sdk/descriptor.h"
#include "sdk/image/exif.h"
#include "sdk/image/jpeg_check.h"
#include "sdk/operators/built_in.h"

namespace {

// Maximum bytes that compressed data may inflate to, from the image's header. Damaged or hostile files may expand a
// thousandfold.
thread_local size_t g_growth = 0;
thread_local bool g_outgrown = false, g_starved = false;

// Records a failed allocation, because stb does not always report it.
void* taken(void* memory) {
  g_starved |= memory == nullptr;
  return memory;
}

void* grow(void* memory, size_t size) {
  g_outgrown = size > g_growth;
  return g_outgrown ? nullptr : taken(realloc(memory, size));
}

}  // namespace

// stb_image is compiled only here, with internal linkage, because an app may contain its own copy. It works on memory
// only. Its assertions are off: damaged images are errors and must not abort.
#define STBI_ASSERT(x) ((void)0)
// Zeroed memory: a JPEG may refer to Huffman tables that it does not define, and stb would read uninitialised memory.
#define STBI_MALLOC(size) taken(calloc(1, size))
#define STBI_REALLOC(memory, size) grow(memory, size)
#define STBI_FREE(memory) free(memory)
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_MAX_DIMENSIONS 32768
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>

namespace ferry::image {
namespace {

static_assert(kMaxSide == STBI_MAX_DIMENSIONS);

// Maximum file size: an uncompressed BMP of kMaxPixels with alpha, plus its header.
constexpr int64_t kMaxFileBytes = kMaxPixels * 4 + (1 << 20);

bool starts_like_a_jpeg(const unsigned char* p, size_t size) {
  return size >= 3 && p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff;
}

bool starts_like_a_png(const unsigned char* p, size_t size) {
  return size >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0;
}

// Image formats that people have and Ferry does not read; null for anything else.
const char* foreign_image(const unsigned char* p, size_t size) {
  if (size >= 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0) return "WebP";
  if (size >= 12 && memcmp(p + 4, "ftypavif", 8) == 0) return "AVIF";
  if (size >= 12 && (memcmp(p + 4, "ftyphei", 7) == 0 || memcmp(p + 4, "ftypmif1", 8) == 0)) return "HEIF";
  if (size >= 4 && memcmp(p, "GIF8", 4) == 0) return "GIF";
  if (size >= 4 && (memcmp(p, "II*", 4) == 0 || memcmp(p, "MM\0*", 4) == 0)) return "TIFF";
  return nullptr;
}

bool starts_like_an_image(const unsigned char* p, size_t size) {
  const bool bmp = size >= 2 && p[0] == 'B' && p[1] == 'M';
  return starts_like_a_jpeg(p, size) || starts_like_a_png(p, size) || bmp;
}

// A side from a PNG's header, which begins after 16 bytes.
int side_of_png(const unsigned char* p) { return p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

}  // namespace

Status decode(const void* data, size_t size, const char* name, Pixels* out) {
  if (!built_in(Feature::Files)) return without_files();
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (!starts_like_an_image(bytes, size)) {
    const char* foreign = foreign_image(bytes, size);
    if (foreign) return error(FERRY_NOT_AN_IMAGE, "%s is a %s image, expected JPEG, PNG or BMP", name, foreign);
    return error(FERRY_NOT_AN_IMAGE, "%s is not a JPEG, PNG or BMP image", name);
  }
  if (size > INT_MAX) return error(FERRY_IMAGE_TOO_LARGE, "%s: an image file of more than 2 GiB", name);
  if (const char* fault = starts_like_a_jpeg(bytes, size) ? fault_of_jpeg(bytes, size) : nullptr) {
    return error(FERRY_IMAGE_DAMAGED, "%s: damaged image (%s)", name, fault);
  }
  int width = 0, height = 0, channels = 0;
  // Checked before memory for the image is allocated. If this fails, decoding reports a better error, except for a PNG
  // that is too large.
  if (!stbi_info_from_memory(bytes, static_cast<int>(size), &width, &height, &channels) && size >= 24 &&
      starts_like_a_png(bytes, size)) {
    width = side_of_png(bytes + 16);
    height = side_of_png(bytes + 20);
  }
  if (width > kMaxSide || height > kMaxSide || int64_t{width} * height > kMaxPixels) {
    return error(FERRY_IMAGE_TOO_LARGE, "%s: %dx%d pixels: at most %d a side and %lld in all are allowed", name, width,
                 height, kMaxSide, static_cast<long long>(kMaxPixels));
  }
  // A PNG's pixels (up to 4 samples of 2 bytes) with the padding of interlaced passes, or its concatenated compressed
  // data.
  constexpr size_t kBeside = 1 << 16;
  g_growth = 2 * std::max(size, static_cast<size_t>(width) * static_cast<size_t>(height) * 8) + kBeside;
  g_outgrown = g_starved = false;
  std::unique_ptr<unsigned char, FreeDeleter> rgb(
      stbi_load_from_memory(bytes, static_cast<int>(size), &width, &height, &channels, 3));
  if (!rgb) {
    const char* reason = g_outgrown ? "it holds more than its header says" : stbi_failure_reason();
    if (g_starved) return error(FERRY_OUT_OF_MEMORY, "no memory to read %s (%dx%d pixels)", name, width, height);
    return error(FERRY_IMAGE_DAMAGED, "%s: damaged image (%s)", name, reason);
  }
  // stb_image accepts a BMP of no columns.
  if (width < 1 || height < 1)
    return error(FERRY_IMAGE_DAMAGED, "%s: damaged image (%dx%d pixels, expected at least 1x1)", name, width, height);
  out->adopt(rgb.release(), width, height, 3);
  const bool has_exif = starts_like_a_jpeg(bytes, size) || starts_like_a_png(bytes, size);
  return has_exif ? make_upright(exif_orientation(bytes, size), out) : Status();
}

Status load(const char* path, Pixels* out) {
  if (!built_in(Feature::Files)) return without_files();
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return error(FERRY_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
  struct stat info;
  if (fstat(file.get(), &info) != 0) return error(FERRY_IO_ERROR, "cannot read %s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return error(FERRY_IO_ERROR, "cannot read %s: it is not a regular file", path);
  if (info.st_size > kMaxFileBytes) {
    return error(FERRY_IMAGE_TOO_LARGE, "%s has %lld bytes: too many for an image", path,
                 static_cast<long long>(info.st_size));
  }
  const auto size = static_cast<size_t>(info.st_size);
  std::unique_ptr<unsigned char, FreeDeleter> bytes(static_cast<unsigned char*>(malloc(size + 1)));
  if (!bytes) return error(FERRY_OUT_OF_MEMORY, "no memory to read %s (%zu bytes)", path, size);
  size_t have = 0;
  while (have < size) {
    const ssize_t n = read(file.get(), bytes.get() + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error(FERRY_IO_ERROR, "cannot read %s: %s", path, strerror(errno));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  return decode(bytes.get(), have, path, out);
}

}  // namespace ferry::image
