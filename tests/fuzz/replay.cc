// fuzz_tests NAME PATH...: runs harness NAME over files, and over all files of folders.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/fuzz/harness.h"

namespace {

using ferry::fuzz::require;
namespace fs = std::filesystem;

using Harness = void (*)(std::span<const std::byte>, std::string_view);
struct Row {
  const char* name;
  Harness run;
};
#define FERRY_ROW(name) {#name, ferry::fuzz::name},
constexpr Row kHarnesses[] = {FERRY_HARNESSES(FERRY_ROW)};
#undef FERRY_ROW

void replay(Harness harness, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::fprintf(stderr, "%s\n", path.c_str());  // after a crash, the last one printed is the cause
  // In its own allocation, so that AddressSanitizer sees reads past the end.
  const ferry::fuzz::Aligned bytes(std::as_bytes(std::span(whole)));
  harness(bytes, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

int main(int argc, char** argv) {
  for (const Row& row : kHarnesses) {
    if (argc < 2 || std::strcmp(row.name, argv[1]) != 0) continue;
    int count = 0;
    for (int i = 2; i < argc; ++i) {
      if (fs::is_regular_file(argv[i])) {
        replay(row.run, argv[i]);
        ++count;
      } else if (fs::is_directory(argv[i])) {
        for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
          if (entry.is_regular_file()) replay(row.run, entry.path()), ++count;
      }
    }
    std::printf("%s: %d files\n", row.name, count);
    return count > 0 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: fuzz_tests NAME PATH...; the names:");
  for (const Row& row : kHarnesses) std::fprintf(stderr, " %s", row.name);
  std::fprintf(stderr, "\n");
  return 2;
}
