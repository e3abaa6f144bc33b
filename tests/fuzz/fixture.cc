// Manifests of parity fixtures, with valid tensors.
#include "cli/parity/fixture.h"

#include "converter/checkpoint/safetensors.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(fixture) {
  static const auto& folder = []() -> const std::filesystem::path& {
    const auto values = [](size_t n) {
      static float numbers[64];
      for (size_t i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i % 8) / 8;
      return std::as_bytes(std::span(numbers, n));
    };
    const std::filesystem::path& at = Folder::get().path();
    write_safetensors(at / "fixture.safetensors", {{"input", {ElementType::F32, {1, 3, 2, 2}, values(12)}},
                                                   {"tap/a", {ElementType::F32, {1, 2, 2, 2}, values(8)}},
                                                   {"feat/0", {ElementType::F32, {16}, values(16)}},
                                                   {"logits", {ElementType::F32, {1, 8}, values(8)}}});
    return at;
  }();
  Folder::get().write("manifest.json", text);
  expect_error_only([&] {
    for (const parity::Entry& entry : parity::read_fixture(folder).entries) {
      touch(entry.values);
      for (const int64_t position : entry.positions)
        require(position >= 0 && position < parity::elements(entry.shape), "a sample outside its tensor");
    }
  });
}
