// Shared by the fuzzing harnesses. A harness is one file, tests/fuzz/NAME.cc, with one function that reads hostile
// bytes; docs/fuzzing.md says how to write and run one.
//
//     FERRY_FUZZ(pickle) { expect_error_only([&] { read_pickle(text, "x"); }); }   // `bytes`, `text`: the input
//
// There are two builds. With libFuzzer (preset fuzz) each is a program and may define its own mutator. Otherwise all
// are in one program, fuzz_tests, which replays files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "converter/error.h"
#include "tests/fuzz/harnesses.h"

#if defined(FERRY_LIBFUZZER)
#define FERRY_FUZZ_ENTRY(name)                                                                                        \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {                                           \
    ferry::fuzz::name({reinterpret_cast<const std::byte*>(data), size}, {reinterpret_cast<const char*>(data), size}); \
    return 0;                                                                                                         \
  }
#else
#define FERRY_FUZZ_ENTRY(name)
#endif
// Opens namespace ferry::fuzz only for the function, so that the helpers it calls may be in any namespace.
#define FERRY_FUZZ(name) \
  FERRY_FUZZ_ENTRY(name) \
  void ferry::fuzz::name([[maybe_unused]] std::span<const std::byte> bytes, [[maybe_unused]] std::string_view text)

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ferry::fuzz {

// An invariant for any input: aborts if it does not hold.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Calls the function, which may throw only Error with a one-line message. Returns true if it did not throw.
template <typename Function>
bool expect_error_only(Function function) {
  try {
    function();
    return true;
  } catch (const Error& error) {
    const std::string_view sentence = error.what();
    require(!sentence.empty() && sentence.size() < 100'000, "an error without a sentence, or with an endless one");
    require(sentence.find_first_of("\n\r") == sentence.npos, "an error's sentence has several lines");
    return false;
  }
}

// Reads all bytes, so that a sanitizer checks them.
template <typename Bytes>
void touch(const Bytes& bytes) {
  unsigned sum = 0;
  for (const auto byte : std::as_bytes(std::span(bytes.data(), bytes.size()))) sum += std::to_integer<unsigned>(byte);
  [[maybe_unused]] volatile unsigned sink = sum;
}

// A per-process folder in memory, deleted at a normal exit.
class Folder {
 public:
  static const Folder& get();

  const std::filesystem::path& path() const { return path_; }
  // Writes or replaces a file.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const;
  // Deletes its contents.
  void clear() const;

 private:
  Folder();
  ~Folder();
  std::filesystem::path path_;
};

// Bytes aligned to 64, in an allocation of exactly their size.
class Aligned {
 public:
  explicit Aligned(std::span<const std::byte> bytes);
  ~Aligned() { std::free(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  operator std::span<const std::byte>() const { return {data_, size_}; }

 private:
  std::byte* data_;
  size_t size_;
};

}  // namespace ferry::fuzz
