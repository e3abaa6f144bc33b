// What the fuzzing harnesses share. A harness is one file, tests/fuzz/NAME.cc, with one function that reads hostile
// bytes; docs/fuzzing.md says how to write and run one.
//
//     FERRY_FUZZ(pickle) { expect_error_only([&] { read_pickle(text, {}, "x"); }); }   // `bytes`, `text`: the input
//
// Built two ways: with libFuzzer a program each (preset fuzz), which may bring a mutator of its own, and otherwise one
// program, fuzz_tests, which replays files.
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
// Opens namespace ferry::fuzz for the function only: what it calls may lie anywhere above.
#define FERRY_FUZZ(name) \
  FERRY_FUZZ_ENTRY(name) \
  void ferry::fuzz::name([[maybe_unused]] std::span<const std::byte> bytes, [[maybe_unused]] std::string_view text)

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ferry::fuzz {

// What must hold for any input: ends the program where it does not.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Throws nothing but Error, with one line of a sentence. Was nothing thrown?
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

// Reads all of it, so that a sanitizer sees where it lies.
template <typename Bytes>
void touch(const Bytes& bytes) {
  unsigned sum = 0;
  for (const auto byte : std::as_bytes(std::span(bytes.data(), bytes.size()))) sum += std::to_integer<unsigned>(byte);
  [[maybe_unused]] volatile unsigned sink = sum;
}

// A folder in memory, this process's own, that is gone when it ends well.
class Folder {
 public:
  static const Folder& get();

  const std::filesystem::path& path() const { return path_; }
  // A file that holds these bytes, in the place of what it held.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const;
  // Everything in it.
  void clear() const;

 private:
  Folder();
  ~Folder();
  std::filesystem::path path_;
};

// Bytes that begin at a multiple of 64, in an allocation of exactly their size.
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
