#include "sdk/gpu/device/shaders.h"

#include <iterator>

#include "generated_shaders.inc"  // kPacked, kUnpackedBytes, kModuleEnds
#include "sdk/gpu/device/lzma.h"

namespace ferry::gpu {
namespace {

size_t number_of(Kernel kernel, Storage storage) {
  return 2 * static_cast<size_t>(kernel) + (storage == Storage::Float16 ? 1 : 0);
}

// Reverses differences() of cmake/embed_shaders.py.
void add_previous(std::span<uint32_t> module) {
  uint32_t previous[128][8] = {};
  for (size_t at = 5; at < module.size(); at += module[at] >> 16) {
    const uint32_t opcode = module[at] & 0xffff, length = module[at] >> 16;
    for (uint32_t i = 1; i < length; ++i) {
      uint32_t& before = previous[opcode % 128][i % 8];
      before = module[at + i] += before;
    }
  }
}

}  // namespace

void Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  std::vector<uint32_t> words(kUnpackedBytes / sizeof(uint32_t));
  unpack_lzma(kPacked, reinterpret_cast<uint8_t*>(words.data()), kUnpackedBytes);
  modules_.clear();
  size_t begin = 0;
  for (size_t end : kModuleEnds) {
    add_previous(modules_.emplace_back(words.begin() + begin, words.begin() + end));
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
