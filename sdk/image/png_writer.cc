#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <string>

#include "sdk/descriptor.h"
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

}  // namespace

Status write_file(const void* data, size_t size, const char* path) {
  const std::string beside = std::string(path) + ".part" + std::to_string(getpid());
  Descriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.ok()) return error(FERRY_IO_ERROR, "cannot write %s: %s", path, strerror(errno));
  int failure = 0;
  for (size_t done = 0; done < size && failure == 0;) {
    const ssize_t n = write(file.get(), static_cast<const char*>(data) + done, size - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  // A full disk may be reported only here.
  if (file.close() != 0 && failure == 0) failure = errno;
  if (failure == 0 && rename(beside.c_str(), path) != 0) failure = errno;
  if (failure != 0) {
    unlink(beside.c_str());
    return error(FERRY_IO_ERROR, "cannot write %s: %s", path, strerror(failure));
  }
  return {};
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
  return write_file(png, static_cast<size_t>(size), path);
}

}  // namespace ferry::image
