#include "sdk/gpu/device/shaders.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "generated_shaders.inc"  // kPacked, kUnpackedBytes, kModuleEnds, kStreamWords, kOpcodes
#include "sdk/gpu/device/lzma.h"

namespace ferry::gpu {
namespace {

size_t number_of(Kernel kernel, Storage storage) {
  return 2 * static_cast<size_t>(kernel) + (storage == Storage::Float16 ? 1 : 0);
}

// Which word of an instruction is the identifier of its result, the one before being its type; 0: it has none. And
// whether all behind it are literals. `first` is the instruction's first word.
struct Form {
  uint32_t result;
  bool literals;
};
Form form_of(uint32_t first) {
  const uint32_t opcode = first & 0xffff, last = (first >> 16) - 1;
  for (const auto& [begin, end, word, literals] : kOpcodes)
    if (opcode >= begin && opcode <= end) return {std::min<uint32_t>(word, last), literals};
  return {std::min(2u, last), false};
}

// The reverse of split() in cmake/embed_shaders.py.
class Streams {
 public:
  explicit Streams(const uint32_t* words)
      : headers_(words), opcodes_(headers_ + kStreamWords[0]), results_(opcodes_ + kStreamWords[1]) {
    std::array<uint32_t, kOpcodeLimit> types = {}, operands = {};
    for (size_t i = 0; i < kStreamWords[1]; ++i) {
      const uint32_t first = opcodes_[i], opcode = first & 0xffff, place = form_of(first).result;
      types[opcode] += place == 2 ? 1 : 0;
      operands[opcode] += (first >> 16) - 1 - place;
    }
    const uint32_t *type = results_ + kStreamWords[2], *operand = type + kStreamWords[3];
    for (size_t opcode = 0; opcode < kOpcodeLimit; ++opcode) {
      types_[opcode] = type;
      operands_[opcode] = operand;
      type += types[opcode];
      operand += operands[opcode];
    }
  }

  // The next module, of so many words.
  std::vector<uint32_t> take(size_t count) {
    std::vector<uint32_t> words(count);
    uint32_t *to = words.data(), *end = to + count, result = 0;
    for (int i = 0; i < 5; ++i) *to++ = *headers_++;
    while (to < end) {
      const uint32_t first = *opcodes_++, opcode = first & 0xffff, length = first >> 16;
      const auto [place, literals] = form_of(first);
      *to++ = first;
      if (place == 2) *to++ = *types_[opcode]++;
      if (place > 0) *to++ = result += *results_++;
      for (uint32_t i = place + 1; i < length; ++i) {
        const uint32_t word = *operands_[opcode]++, distance = word - kFirstLocal;
        if (literals || word < kFirstLocal) {
          *to++ = word;
        } else {
          *to++ = distance % 2 == 0 ? result - distance / 2 : result + distance / 2 + 1;
        }
      }
    }
    return words;
  }

 private:
  const uint32_t *headers_, *opcodes_, *results_;
  std::array<const uint32_t*, kOpcodeLimit> types_, operands_;
};

}  // namespace

void Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  std::vector<uint32_t> words(kUnpackedBytes / sizeof(uint32_t));
  unpack_lzma(kPacked, reinterpret_cast<uint8_t*>(words.data()), kUnpackedBytes);
  Streams streams(words.data());
  modules_.clear();
  uint32_t begin = 0;
  for (uint32_t end : kModuleEnds) {
    modules_.push_back(end == begin ? std::vector<uint32_t>() : streams.take(end - begin));
    begin = end;
  }
}

std::span<const uint32_t> Shaders::code(Kernel kernel, Storage storage) const {
  return modules_[number_of(kernel, storage)];
}

void Shaders::replace(Kernel kernel, Storage storage, std::vector<uint32_t> code) {
  modules_[number_of(kernel, storage)] = std::move(code);
}

}  // namespace ferry::gpu
