// Command-line arguments: references to the hub, shapes.
#include "converter/file_options.h"
#include "converter/hub/settings.h"
#include "converter/onnx/convert_onnx.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(reference) {
  std::string whole(text);
  for (char& c : whole)
    if (static_cast<unsigned char>(c) < 32) c = '?';  // the message repeats the argument
  if (is_hub_reference(whole))
    expect_error_only([&] {
      const HubReference reference = parse_hub_reference(whole, "");
      require(is_safe_path(reference.repository) && is_safe_path(reference.revision), "a reference out of the cache");
      require(reference.file.empty() || is_safe_path(reference.file), "a file out of its repository");
    });
  expect_error_only([&] { parse_shapes({whole}); });
}
