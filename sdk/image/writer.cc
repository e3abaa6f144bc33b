#include <string.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "sdk/files/new_file.h"
#include "sdk/image/codec.h"
#include "sdk/operators/built_in.h"

namespace {

// Memory of stb_image_write, which does not check for failed allocations. A failure throws, and the destructor frees
// all blocks.
class WriterMemory {
 public:
  WriterMemory() { present = this; }
  ~WriterMemory() {
    while (first_ != nullptr) release(first_ + 1);
  }
  WriterMemory(const WriterMemory&) = delete;
  WriterMemory& operator=(const WriterMemory&) = delete;

  static void* grow(void* memory, size_t former, size_t size) { return present->move(memory, former, size); }
  static void give(void* memory) { present->release(memory); }

 private:
  struct alignas(16) Block {
    Block *before, *after;
  };

  void* move(void* memory, size_t former, size_t size) {
    Block* const block = new (::operator new(sizeof(Block) + size)) Block{nullptr, first_};
    if (first_ != nullptr) first_->before = block;
    first_ = block;
    if (memory != nullptr) memcpy(block + 1, memory, std::min(former, size));
    release(memory);
    return block + 1;
  }
  void release(void* memory) {
    if (memory == nullptr) return;
    Block* const block = static_cast<Block*>(memory) - 1;
    (block->before != nullptr ? block->before->after : first_) = block->after;
    if (block->after != nullptr) block->after->before = block->before;
    ::operator delete(block);
  }

  static thread_local WriterMemory* present;
  Block* first_ = nullptr;
};

thread_local WriterMemory* WriterMemory::present = nullptr;

}  // namespace

// stb_image_write is compiled only here, with internal linkage.
#define STBIW_ASSERT(x) ((void)0)
#define STBIW_MALLOC(size) WriterMemory::grow(nullptr, 0, size)
#define STBIW_REALLOC_SIZED(memory, former, size) WriterMemory::grow(memory, former, size)
#define STBIW_FREE(memory) WriterMemory::give(memory)
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace ferry::image {
namespace {

// A PNG of two 8-bit channels differs from one of one 16-bit channel only in its header.
void make_sixteen_bits(unsigned char* png) {
  constexpr int kHeader = 12, kDepth = 24, kColor = 25, kCrc = 29;  // signature and length precede it
  png[kDepth] = 16;
  png[kColor] = 0;  // grey
  const unsigned crc = stbiw__crc32(png + kHeader, kCrc - kHeader);
  for (int i = 0; i < 4; ++i) png[kCrc + i] = static_cast<unsigned char>(crc >> (24 - 8 * i));
}

// The name's suffix in lower case, with its dot; "" if there is none.
std::string suffix_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return {};
  std::string suffix(name.substr(dot));
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return suffix;
}

std::span<const std::byte> bytes_of(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

Status check_suffix(const char* path) {
  const std::string suffix = suffix_of(path);
  if (suffix.empty() || suffix == ".png") return {};
  return error(FERRY_INVALID_ARGUMENT, "'%s': cannot be written: images are written as .png, not as %s", path,
               suffix.c_str());
}

Status save_png(const View& image, const char* path, bool sixteen_bits) {
  if (!built_in(Feature::Files)) return without_files();
  // stb stores the filtered image's size in an int.
  if ((int64_t{image.width} * image.channels + 1) * image.height > INT_MAX || image.stride > INT_MAX) {
    return error(FERRY_INVALID_ARGUMENT, "cannot write %s: %dx%d pixels are more than a PNG of 2 GiB holds", path,
                 image.width, image.height);
  }
  int size = 0;
  const WriterMemory memory;
  unsigned char* png = stbi_write_png_to_mem(image.data, static_cast<int>(image.stride), image.width, image.height,
                                             image.channels, &size);
  if (sixteen_bits) make_sixteen_bits(png);
  return replace_file(path, bytes_of(png, static_cast<size_t>(size)), {.durable = false});
}

Status save(const View& image, const char* path, bool sixteen_bits) {
  FERRY_TRY(check_suffix(path));
  return save_png(image, path, sixteen_bits);
}

}  // namespace ferry::image
