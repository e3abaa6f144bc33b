#include "tests/gpu/planted_fault.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace ferry::testing {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<uint32_t> compile_with_fault(const char* kernel, const char* file, const char* from, const char* to,
                                         bool half, const std::filesystem::path& folder) {
  std::filesystem::copy(FERRY_SHADERS, folder, std::filesystem::copy_options::recursive);
  std::string text = read(folder / file);
  const size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) return {};
  text.replace(at, std::strlen(from), to);
  std::ofstream(folder / file, std::ios::binary) << text;
  // variants of the same file: cmake/shaders.cmake
  std::string name = kernel;
  const bool in_float16 = name.ends_with("_float16");
  if (in_float16) name.resize(name.size() - std::strlen("_float16"));
  const std::string path = (folder / name).string();
  const std::string command = std::string(FERRY_GLSLC) + " -w --target-env=vulkan1.1 -I " + FERRY_GENERATED_SHADERS +
                              " " + (half ? "-DFLOAT16 " : "") + (in_float16 ? "-DFLOAT16_ARITHMETIC " : "") + path +
                              ".comp -o " + path + ".spv";
  if (std::system(command.c_str()) != 0) return {};
  const std::string bytes = read(path + ".spv");
  std::vector<uint32_t> code(bytes.size() / sizeof(uint32_t));
  std::memcpy(code.data(), bytes.data(), code.size() * sizeof(uint32_t));
  return code;
}

}  // namespace ferry::testing
