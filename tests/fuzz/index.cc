// The index of a sharded checkpoint; its shards are valid.
#include "converter/checkpoint/safetensors.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(index) {
  static const auto shards = [] {
    const float values[] = {1, 2, 3, 4};
    const auto tensor = [&](std::vector<int64_t> shape) {
      return CheckpointTensor{.type = ElementType::F32, .shape = shape, .bytes = std::as_bytes(std::span(values))};
    };
    const std::filesystem::path& folder = Folder::get().path();
    write_safetensors(folder / "model-1.safetensors", {{"a", tensor({4})}, {"b", tensor({2, 2})}});
    write_safetensors(folder / "model-2.safetensors", {{"c", tensor({1, 4})}});
    return 2;
  }();
  static_cast<void>(shards);
  const auto file = Folder::get().write("model.safetensors.index.json", text);
  expect_error_only([&] {
    const auto checkpoint = open_checkpoint(file);
    for (const auto& [name, tensor] : checkpoint->tensors()) touch(tensor.bytes);
  });
}
