// TensorFlow.js layers models: model.json, with valid weight files.
#include "converter/checkpoint/tensorflowjs.h"

#include "tests/fuzz/harness.h"

FERRY_FUZZ(tensorflowjs) {
  Folder::get().write("w1.bin", std::string(20, 'x'));
  Folder::get().write("w2.bin", std::string(11, 'x'));
  const auto file = MappedFile::open(Folder::get().write("model.json", text));
  expect_error_only([&] {
    const auto checkpoint = open_tensorflowjs(file);
    for (const auto& [name, tensor] : checkpoint->tensors())
      require(tensor.to_doubles().size() == static_cast<size_t>(tensor.elements()), "elements went lost");
  });
}
