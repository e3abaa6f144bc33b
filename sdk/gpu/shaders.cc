#include "sdk/gpu/shaders.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "generated_shaders.inc"  // kPacked, kPackedBytes, kUnpackedBytes, kModuleEnds

// stb_image's; sdk/image/codec.cc holds it.
extern "C" int stbi_zlib_decode_buffer(char* out, int out_bytes, const char* in, int in_bytes);

namespace ferry::gpu {
namespace {

size_t index_of(Kernel kernel, Storage storage) {
  return 2 * static_cast<size_t>(kernel) + (storage == Storage::Half ? 1 : 0);
}

}  // namespace

Status Shaders::load() {
  static_assert(std::size(kModuleEnds) == 2 * kKernelCount);
  std::vector<uint32_t> all(kUnpackedBytes / 4);
  const int bytes = stbi_zlib_decode_buffer(reinterpret_cast<char*>(all.data()), static_cast<int>(kUnpackedBytes),
                                            reinterpret_cast<const char*>(kPacked), static_cast<int>(sizeof kPacked));
  if (bytes != static_cast<int>(kUnpackedBytes)) return error(FERRY_OUT_OF_MEMORY, "the shaders cannot be unpacked");
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
