// `ferry bisect` on a blob from an ONNX file, and a fixture of the PyTorch module that was exported
// (tests/conformance/make_taps.py).
#if defined(FERRY_HAS_CONVERTER) && defined(FERRY_HAS_ONNX)

#include <gtest/gtest.h>

#include "cli/bisect/bisect.h"
#include "cli/sdk.h"
#include "converter/pack/pack.h"
#include "tests/parity/bisected_network.h"
#include "tests/support/paths.h"

namespace ferry::bisect {
namespace {

class BisectOnnx : public ::testing::Test {
 protected:
  BisectOnnx() {
    options_.checkpoint = source_folder() / "tests/data/onnx/taps/model.onnx";
    options_.settings.set("keep-taps");
    graph_ = convert_to_graph(families(), options_);
  }

  template <typename Change>  // of an operator of this kind and name
  void plant(const std::string& node, fbs::OpParams kind, const Change& change) {
    for (const auto& op : graph_->table.operators)
      if (op->name == node && op->params.type == kind) return change(*op);
    FAIL() << "no operator " << node;
  }

  Finding find() {
    return bisect(pack(*graph_), options_, parity::read_fixture(options_.checkpoint.parent_path() / "fixture"),
                  run_on_cpu);
  }

  ConvertOptions options_;
  std::unique_ptr<Graph> graph_;
};

TEST_F(BisectOnnx, ARightBlobHasNoFault) {
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::None) << finding.first;
}

TEST_F(BisectOnnx, AnEpsilonOfTheConversion) {
  plant("/norm/Add_1", fbs::OpParams::LayerNorm, [](fbs::OperatorT& op) { op.params.AsLayerNorm()->epsilon = 1e-2f; });
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion);
  EXPECT_EQ(finding.first, "tap/norm");
  EXPECT_EQ(finding.op, "layer_norm");
  EXPECT_NE(finding.cause.find("the norm's epsilon"), std::string::npos) << finding.cause;
}

}  // namespace
}  // namespace ferry::bisect

#endif
