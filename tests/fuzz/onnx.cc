// ONNX files, imported and packed. The mutator changes messages, not bytes.
#include "converter/graph/graph.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/conformance/mutate_model.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(onnx) {
  using ferry::onnx::Dimension;
  const auto file = Folder::get().write("net.onnx", text);
  std::string open;  // a dimension that the file names
  expect_error_only([&] {
    const ferry::onnx::Model model = ferry::onnx::read_model(file);
    ferry::onnx::ImportOptions options;
    for (const auto& input : model.inputs) {
      ferry::onnx::Dims& sizes = options.shapes[input.name];
      for (const Dimension& d : input.shape) {
        sizes.push_back(d.size < 0 ? 4 : d.size);
        if (!d.symbol.empty()) open = d.symbol;
      }
    }
    ferry::onnx::Imported imported = ferry::onnx::import_model(model, options);
    if (imported.graph->table.outputs.empty()) return;
    sink_transposes(*imported.graph, {});
    slice_before_reshape(*imported.graph, {});
    run_passes(*imported.graph, {});
    touch(pack(*imported.graph));
  });
  if (!open.empty() && text.size() % 4 == 0)
    expect_error_only(
        [&] { ferry::onnx::build_graph({.file = file, .shapes = {}, .dynamic = {open}, .without = {}}); });
}

#if defined(FERRY_LIBFUZZER)
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  ::onnx::ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)) || model.graph().node_size() == 0 ||
      model.graph().input_size() == 0 || model.opset_import_size() == 0)
    return LLVMFuzzerMutate(data, size, maximum);
  const std::string changed = ferry::testing::mutated(model, seed).SerializeAsString();
  if (changed.size() > maximum) return size;
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
#endif
