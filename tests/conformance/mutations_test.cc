// Files that differ from valid ones in a few fields are imported and packed, or refused with a message. They never
// crash or use unbounded memory. By default a few are tried; FERRY_MUTATIONS=100000 conformance_tests
// --gtest_filter='Mutations*' in a sanitizer build tries many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "models/families.h"
#include "tests/conformance/mutate_model.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// Binds the file's open dimensions; otherwise it would be refused early.
std::map<std::string, onnx::Dims> shapes_of(const std::string& network) {
  if (network == "segmenter") return {{"input", {1, 3, 16, 16}}};
  if (network == "encoder") return {{"tokens", {1, 4, 8}}, {"mask", {1, 4}}};
  if (network == "decoder") return {{"tokens", {2, 5, 8}}};
  if (network == "squeeze") return {{"x", {2, 1, 8}}};
  if (network == "text") return {{"tokens", {2, 4}}, {"mask", {2, 4}}};
  if (network == "rotary_text") return {{"tokens", {2, 4, 16}}};
  if (network == "pyramid" || network == "multiples") return {{"input", {1, 3, 16, 16}}};
  if (network == "halves") return {{"tokens", {1, 8, 8}}};
  if (network == "grid_rotary" || network == "centred" || network == "windows") return {{"input", {1, 3, 16, 32}}};
  if (network == "loops/stacked") return {{"x", {150, 2, 8}}};
  return {};
}

// The dimensions that may also stay open.
std::vector<std::string> open_dimensions(const std::string& network) {
  if (network == "decoder") return {"batch"};
  if (network == "encoder" || network == "text" || network == "rotary_text") return {"batch", "sequence"};
  if (network == "segmenter" || network == "pyramid") return {"batch", "height", "width"};
  if (network == "loops/stacked") return {"T", "N"};
  if (network == "multiples" || network == "centred" || network == "windows") return {"height", "width"};
  if (network == "grid_rotary") return {"batch", "height", "width"};
  if (network == "halves") return {"batch", "sequence"};
  return {};
}

void convert_open(const fs::path& path, const std::string& network) {
  ConvertOptions options;
  options.checkpoint = path;
  for (const std::string& dimension : open_dimensions(network)) options.settings.add("dynamic", dimension);
  for (const auto& [input, dims] : shapes_of(network)) {
    std::string sizes;
    for (const int64_t size : dims) sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
    options.settings.add("shape", input + "=" + sizes);
  }
  try {
    pack(*convert_to_graph(options));
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

void import_and_pack(const fs::path& path, const std::map<std::string, onnx::Dims>& shapes) {
  try {
    onnx::Imported imported = onnx::import_model(onnx::read_model(path), {.shapes = shapes});
    if (imported.graph->table.outputs.empty()) return;
    sink_transposes(*imported.graph, {});
    run_passes(*imported.graph, {});
    pack(*imported.graph);
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

class Mutations : public ::testing::TestWithParam<const char*> {};

TEST_P(Mutations, NeverCrash) {
  const char* asked = std::getenv("FERRY_MUTATIONS");
  const uint64_t count = asked ? std::strtoull(asked, nullptr, 10) : 60;
  const fs::path file = source_folder() / "tests" / "data" / "onnx" / GetParam() / "model.onnx";
  ::onnx::ModelProto good;
  ASSERT_TRUE(good.ParseFromString(read_text(file)));
  const ScratchFolder folder;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const std::string bytes = mutated(good, seed).SerializeAsString();
    SCOPED_TRACE("seed " + std::to_string(seed));
    const fs::path path = folder.write("net.onnx", bytes);
    import_and_pack(path, shapes_of(GetParam()));
    const bool language = std::string_view(GetParam()).starts_with("language/");  // becomes a language model
    if (language || !open_dimensions(GetParam()).empty()) convert_open(path, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Mutations,
                         ::testing::Values("cnn", "detector", "vit", "rms", "squeeze", "segmenter", "encoder",
                                           "decoder", "text", "rotary_text", "pyramid", "language/opt",
                                           "language/llama_merged", "detection/maskrcnn", "detection/keypointrcnn",
                                           "loops/stacked", "loops/counted", "multiples", "halves", "grid_rotary"),
                         [](const auto& network) { return fs::path(network.param).filename().string(); });

}  // namespace
}  // namespace ferry::testing
