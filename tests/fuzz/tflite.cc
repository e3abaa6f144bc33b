// TensorFlow Lite files, imported and packed.
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "converter/tflite/importer.h"
#include "converter/tflite/weights.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(tflite) {
  if (!ferry::tflite::looks_like_tflite(bytes)) return;
  const auto file = Folder::get().write("model.tflite", text);
  expect_error_only([&] {
    const auto constants = ferry::tflite::open_constants(file);
    for (const auto& [name, tensor] : constants->tensors())
      require(tensor.bytes.size() == static_cast<size_t>(tensor.elements()) * element_size(tensor.type),
              "a constant has other bytes than its elements");
  });
  expect_error_only([&] {
    ferry::tflite::Imported imported =
        ferry::tflite::import_file(ferry::tflite::open_file(file), {.taps = {.all = true}});
    make_channels_last(*imported.graph, {});
    run_passes(*imported.graph, {});
    touch(pack(*imported.graph));
  });
}
