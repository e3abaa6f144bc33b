#include "sdk/gpu/shaders.h"

#include <iterator>

#include "generated_shaders.inc"  // kPacked, kUnpackedBytes, kModuleEnds
#include "sdk/image/codec.h"

namespace ferry::gpu {
namespace {

size_t index_of(Kernel kernel, Storage storage) {
  return 2 * static_cast<size_t>(kernel) + (storage == Storage::Half ? 1 : 0);
}

}  // namespace

Status Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  std::vector<uint32_t> all(kUnpackedBytes / 4);
  FERRY_TRY(image::inflate(kPacked, sizeof kPacked, all.data(), kUnpackedBytes));
  modules_.clear();
  uint32_t begin = 0;
  for (uint32_t end : kModuleEnds) {
    modules_.emplace_back(all.begin() + begin, all.begin() + end);
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
