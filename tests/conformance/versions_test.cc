// Files of old opsets, of newer schemas, and with small types: right by the definition of their version, or refused
// with the reason.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/model.h"
#include "converter/onnx/versions.h"
#include "converter/pack/pack.h"
#include "tests/conformance/run_blob.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
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

// The outputs of a file for inputs in its order; empty if it does not run, with the reason in `why`.
std::vector<BlobTensor> run_file(const std::filesystem::path& path, const std::vector<BlobTensor>& inputs,
                                 std::string* why) {
  try {
    const std::unique_ptr<Graph> graph = onnx::build_graph({.file = path, .passes = true});
    const std::vector<std::byte> packed = pack(*graph);
    AlignedBytes blob(packed);
    BlobTensors given, computed;
    for (size_t i = 0; i < inputs.size(); ++i) given["x" + std::to_string(i)] = inputs[i];
    *why = run_blob(blob.data(), blob.size(), given, &computed);
    std::vector<BlobTensor> outputs;
    for (const auto& output : graph->table.outputs) outputs.push_back(computed[output->name]);
    return outputs;
  } catch (const std::exception& error) {
    *why = error.what();
    return {};
  }
}

TEST(Versions, OldAndNewFilesAreRightOrRefused) {
  const ScratchFolder folder;
  for (const VersionCase& c : version_cases()) {
    SCOPED_TRACE(c.name);
    std::string why;
    const std::vector<BlobTensor> got = run_file(folder.write("net.onnx", from_hex(c.hex)), c.inputs, &why);
    if (!c.says.empty()) {
      EXPECT_TRUE(why.find(c.says) != std::string::npos) << "expected: " << c.says << "\nit says: " << why;
      continue;
    }
    EXPECT_EQ(why, "");
    ASSERT_EQ(got.size(), c.outputs.size());
    for (size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k].dims, c.outputs[k].dims) << "output " << k;
      ASSERT_EQ(got[k].values.size(), c.outputs[k].values.size());
      for (size_t i = 0; i < got[k].values.size(); ++i) {
        const double want = c.outputs[k].values[i];
        EXPECT_NEAR(got[k].values[i], want, 1e-6 * std::max(1.0, std::fabs(want))) << "output " << k << ", " << i;
      }
    }
  }
}

// An operator without a row would accept any attribute, and any opset.
TEST(Versions, EveryOperatorHasARow) {
  for (const std::string& name : onnx::operator_names("")) {
    onnx::Node node;
    node.op = name;
    node.opset = static_cast<int>(onnx::kNewestOpset);
    EXPECT_NE(onnx::find_opset_row(node), nullptr) << name << " has no row in converter/onnx/ops/versions.cc";
  }
}

}  // namespace
}  // namespace ferry::testing
