#include "sdk/gpu/shaders.h"

#include <array>
#include <iterator>

#include "generated_shaders.inc"  // kPacked, kUnpackedBytes, kModuleEnds, kStreamWords
#include "sdk/image/codec.h"

namespace ferry::gpu {
namespace {

size_t index_of(Kernel kernel, Storage storage) {
  return 2 * static_cast<size_t>(kernel) + (storage == Storage::Half ? 1 : 0);
}

// Words that come one after the other.
struct Stream {
  const uint32_t* next;
  uint32_t take() { return *next++; }
};

// The reverse of split() in cmake/embed_shaders.py.
std::vector<uint32_t> join(std::array<Stream, std::size(kStreamWords)>& streams, size_t count) {
  auto& [headers, opcodes, seconds, thirds, operands] = streams;
  std::vector<uint32_t> words;
  words.reserve(count);
  for (int i = 0; i < 5; ++i) words.push_back(headers.take());
  uint32_t third = 0;
  while (words.size() < count) {
    const uint32_t opcode = opcodes.take(), length = opcode >> 16;
    words.push_back(opcode);
    if (length > 1) words.push_back(seconds.take());
    if (length > 2) words.push_back(third += thirds.take());
    for (uint32_t i = 3; i < length; ++i) words.push_back(third - operands.take());
  }
  return words;
}

}  // namespace

Status Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  // The lowest bytes of all words, then the next ones.
  constexpr size_t kWords = kUnpackedBytes / 4;
  std::vector<uint8_t> bytes(kUnpackedBytes);
  FERRY_TRY(image::inflate(kPacked, sizeof kPacked, bytes.data(), kUnpackedBytes));
  std::vector<uint32_t> words(kWords);
  for (size_t i = 0; i < kWords; ++i)
    for (size_t plane = 0; plane < 4; ++plane) words[i] |= uint32_t{bytes[plane * kWords + i]} << 8 * plane;
  std::array<Stream, std::size(kStreamWords)> streams;
  const uint32_t* start = words.data();
  for (size_t i = 0; i < streams.size(); start += kStreamWords[i++]) streams[i].next = start;
  modules_.clear();
  uint32_t begin = 0;
  for (uint32_t end : kModuleEnds) {
    modules_.push_back(join(streams, end - begin));
    begin = end;
  }
  return {};
}

std::span<const uint32_t> Shaders::code(Kernel kernel, Storage storage) const {
  return modules_[index_of(kernel, storage)];
}

void Shaders::replace(Kernel kernel, Storage storage, std::vector<uint32_t> code) {
  modules_[index_of(kernel, storage)] = std::move(code);
}

}  // namespace ferry::gpu
