// safetensors files.
#include "converter/checkpoint/safetensors.h"

#include "tests/fuzz/harness.h"

FERRY_FUZZ(safetensors) {
  const auto file = MappedFile::open(Folder::get().write("model.safetensors", text));
  expect_error_only([&] {
    for (const auto& [name, tensor] : read_safetensors(*file)) {
      require(tensor.bytes.size() == static_cast<size_t>(tensor.elements()) * element_size(tensor.type),
              "a tensor whose bytes are not its elements");
      require(tensor.to_floats().size() == static_cast<size_t>(tensor.elements()), "elements went lost");
      touch(tensor.bytes);
    }
  });
}
