// Files of old opsets, of newer schemas, and with small types: right by the definition of their version, or refused
// with the reason.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/checkpoint/checkpoint.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/model.h"
#include "converter/onnx/versions.h"
#include "converter/pack/pack.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/run_blob.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

struct VersionCase {
  std::string name, hex;
  std::vector<BlobTensor> inputs, outputs;
  std::string says;  // not empty: what the error says
};

const std::vector<VersionCase>& version_cases() {
  static const std::vector<VersionCase> kCases = {
#include "tests/conformance/versions_fixture.inc"
  };
  return kCases;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// Runs a file; empty, or why it does not run.
std::string run_file(const std::filesystem::path& path, const BlobTensors& inputs, BlobTensors* outputs) {
  try {
    const std::vector<std::byte> packed = pack(*onnx::build_graph({.file = path}));
    AlignedBytes blob(packed);
    return run_blob(blob.data(), blob.size(), inputs, outputs);
  } catch (const std::exception& error) {
    return error.what();
  }
}

void expect_near(const BlobTensors& got, const std::string& name, const BlobTensor& want) {
  const auto found = got.find(name);
  ASSERT_TRUE(found != got.end()) << "output '" << name << "' is missing";
  EXPECT_EQ(found->second.dims, want.dims) << name;
  ASSERT_EQ(found->second.values.size(), want.values.size()) << name;
  for (size_t i = 0; i < want.values.size(); ++i)
    EXPECT_NEAR(found->second.values[i], want.values[i], 1e-6 * std::max(1.0, std::fabs(want.values[i])))
        << name << "[" << i << "]";
}

TEST(Versions, OldAndNewFilesAreRightOrRefused) {
  const ScratchFolder folder;
  for (const VersionCase& c : version_cases()) {
    SCOPED_TRACE(c.name);
    BlobTensors inputs, outputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) inputs["x" + std::to_string(i)] = c.inputs[i];
    const std::string why = run_file(folder.write("net.onnx", from_hex(c.hex)), inputs, &outputs);
    if (c.says.empty())
      EXPECT_EQ(why, "");
    else
      EXPECT_TRUE(why.find(c.says) != std::string::npos) << "expected: " << c.says << "\nit says: " << why;
    for (size_t k = 0; k < c.outputs.size(); ++k) expect_near(outputs, "y" + std::to_string(k), c.outputs[k]);
  }
}

BlobTensors read_tensors(const std::filesystem::path& path) {
  BlobTensors tensors;
  const auto file = open_checkpoint(path);
  for (const auto& [name, tensor] : file->tensors()) tensors[name] = {tensor.shape, tensor.to_doubles()};
  return tensors;
}

TEST(Versions, SharedCasesAreRight) {
  const std::filesystem::path cases = shared_dir() / "cases";
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << "no ../shared/cases";
  for (const char* name :
       {"function-attribute-default", "opset6-axis-of-broadcasts/opset6_add_axis",
        "opset6-axis-of-broadcasts/opset6_mul_axis_ne", "int4-weights", "an-output-that-is-constant"}) {
    SCOPED_TRACE(name);
    BlobTensors outputs;
    EXPECT_EQ(run_file(cases / name / "model.onnx", read_tensors(cases / name / "inputs.safetensors"), &outputs), "");
    for (const auto& [output, want] : read_tensors(cases / name / "expected.safetensors"))
      expect_near(outputs, output, want);
  }
}

// An operator without a row would accept any attribute, and any opset. The importer itself reads If, Loop and Scan.
TEST(Versions, EveryOperatorHasARow) {
  for (const onnx::OpRow& known : onnx::operators_of("")) {
    if (known.function == nullptr && known.op != "If" && known.op != "Loop" && known.op != "Scan") continue;
    onnx::Node node;
    node.op = known.op;
    node.opset = static_cast<int>(onnx::kNewestOpset);
    EXPECT_NE(onnx::find_opset_row(node), nullptr) << node.op << " has no row in converter/onnx/ops/versions.cc";
  }
}

}  // namespace
}  // namespace ferry::testing
