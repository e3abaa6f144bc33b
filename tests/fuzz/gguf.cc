// GGUF files: the container, blocks, metadata, and the configuration and tokenizer files made from it.
#include "converter/gguf/gguf.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/harness.h"

FERRY_FUZZ(gguf) {
  if (!ferry::gguf::looks_like_gguf(text)) return;
  const auto file = Folder::get().write("model.gguf", text);
  expect_error_only([&] {
    const auto checkpoint = open_checkpoint(file);
    for (const auto& [name, tensor] : checkpoint->tensors()) {
      // A block may hold many more elements than bytes, but not without limit.
      if (tensor.elements() > int64_t{1} << 16) continue;
      require(tensor.to_floats().size() == static_cast<size_t>(tensor.elements()), "elements went lost");
    }
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"})
      expect_error_only([&] { checkpoint->companions().read_json(name); });
  });
}
