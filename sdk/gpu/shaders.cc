#include "sdk/gpu/shaders.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "generated_shaders.inc"  // kPacked, kUnpackedBytes, kModuleEnds, kStreamWords, kResultWords
#include "sdk/gpu/lzma.h"

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

// Which word of an instruction is the identifier of its result, the one before being its type; 0: it has none.
uint32_t result_word(uint32_t opcode) {
  for (const auto& [first, last, word] : kResultWords)
    if (opcode >= first && opcode <= last) return word;
  return 2;
}

// The reverse of split() in cmake/embed_shaders.py.
std::vector<uint32_t> join(std::array<Stream, std::size(kStreamWords)>& streams, size_t count) {
  auto& [headers, opcodes, types, results, operands] = streams;
  std::vector<uint32_t> words;
  words.reserve(count);
  for (int i = 0; i < 5; ++i) words.push_back(headers.take());
  uint32_t result = 0;
  while (words.size() < count) {
    const uint32_t opcode = opcodes.take(), length = opcode >> 16;
    const uint32_t place = std::min(result_word(opcode & 0xffff), length - 1);
    words.push_back(opcode);
    if (place == 2) words.push_back(types.take());
    if (place > 0) words.push_back(result += results.take());
    for (uint32_t i = place + 1; i < length; ++i) words.push_back(result - operands.take());
  }
  return words;
}

}  // namespace

void Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  std::vector<uint32_t> words(kUnpackedBytes / sizeof(uint32_t));
  unpack_lzma(kPacked, reinterpret_cast<uint8_t*>(words.data()), kUnpackedBytes);
  std::array<Stream, std::size(kStreamWords)> streams;
  const uint32_t* start = words.data();
  for (size_t i = 0; i < streams.size(); start += kStreamWords[i++]) streams[i].next = start;
  modules_.clear();
  uint32_t begin = 0;
  for (uint32_t end : kModuleEnds) {
    modules_.push_back(join(streams, end - begin));
    begin = end;
  }
}

std::span<const uint32_t> Shaders::code(Kernel kernel, Storage storage) const {
  return modules_[index_of(kernel, storage)];
}

void Shaders::replace(Kernel kernel, Storage storage, std::vector<uint32_t> code) {
  modules_[index_of(kernel, storage)] = std::move(code);
}

}  // namespace ferry::gpu
